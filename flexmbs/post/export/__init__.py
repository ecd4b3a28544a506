"""Results in files that other programs open."""

from flexmbs.post.export.export import export

__all__ = ["export"]
