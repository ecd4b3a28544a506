"""Schema -> `Model`: every table becomes the plain data that the mechanics understands."""

from flexmbs.case.build.model import build_model

__all__ = ["build_model"]
