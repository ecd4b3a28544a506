"""Sparse systems whose factor lies on disk: a tree of pieces, eliminated one by one."""
