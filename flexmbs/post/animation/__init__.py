"""Moving pictures of results and modes: a page, a glTF file, images."""

from flexmbs.post.animation.animate import animate

__all__ = ["animate"]
