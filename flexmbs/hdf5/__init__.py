"""HDF5 behind one door: whole files or none on the way out, nothing trusted on the way in.

Writing: what a file is to hold is said to a draft (`draft.py`), which becomes a file in memory
(`writing.py`), or where it is large under a temporary name in the target's folder, through a file object that
never raises (an exception inside HDF5's driver ends the interpreter); then it is written, synced and renamed.
Reading: only hard links, plain numbers and fixed-length strings, known filters; sizes are checked before
anything is read, and the hash of the content is compared with the stored one.
"""

from h5py import Dataset, Group

from flexmbs.hdf5 import files
from flexmbs.hdf5.content import (
    CHECKSUMS,
    blocks,
    chunk_shape,
    content_hash,
    dimensions,
    part_chunks,
    read_part,
    read_tree,
    read_whole,
    text,
    text_array,
    texts,
    walk,
)  # fmt: skip
from flexmbs.hdf5.draft import Node, attributes, dataset, scale, write_tree
from flexmbs.hdf5.files import build_file, of_format
from flexmbs.hdf5.reading import file_format, is_hdf5, open_checked, readable

__all__ = [
    "CHECKSUMS", "Dataset", "Group", "Node", "attributes", "blocks", "build_file", "chunk_shape",
    "content_hash", "dataset", "dimensions", "file_format", "files", "is_hdf5", "of_format",
    "open_checked", "part_chunks", "read_part", "read_tree", "read_whole", "readable", "scale", "text",
    "text_array", "texts", "walk", "write_tree",
]  # fmt: skip
