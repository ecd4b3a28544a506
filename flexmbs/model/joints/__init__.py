"""Joint types: one file each, found by name through `JOINTS` (F19)."""

from flexmbs.model.joints.base import JOINTS, Joint, joint

__all__ = ["JOINTS", "Joint", "joint"]
