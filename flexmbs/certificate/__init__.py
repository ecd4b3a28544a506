"""FE model, ModalData -> /quality: what was tested, what came out, what is out of bounds."""

from flexmbs.certificate.certify import certify
from flexmbs.certificate.text import certificate_text

__all__ = ["certificate_text", "certify"]
