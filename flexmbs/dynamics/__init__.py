"""Equations of motion: the tree by recursion, loops, reactions; minimal and descriptor forms; analyses."""
