"""What comes through meshio and in .vtu files: sets by name, packed data, and damage."""

from types import SimpleNamespace

import meshio
import numpy as np
import pytest

import flexmbs as fm
from flexmbs.fe.readers import read_mesh
from flexmbs.fe.readers.meshio_formats import raw_of_meshio
from flexmbs.fe.readers.source import Damaged
from tests.decks.samples import PART_OF_TWO as PART
from tests.decks.samples import abaqus

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=float)
TETS = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])


def sample(**more):
    cells = [SimpleNamespace(type="tetra", data=TETS), SimpleNamespace(type="triangle", data=TETS[:1, :3])]
    empty = {"point_data": {}, "cell_data": {}, "point_sets": {}, "cell_sets": {}}
    return SimpleNamespace(**({"points": POINTS, "cells": cells} | empty | more))


def test_sets_of_meshio_keep_their_names(tmp_path):
    """Numbers count through all blocks; None stands for a block without members."""
    found = raw_of_meshio(
        sample(point_sets={"ends": np.array([0, 4])},
               cell_sets={"all": [np.array([0, 1]), np.array([0])], "skin": [None, np.array([0])],
                          "gmsh:bounding_entities": [np.array([9]), np.array([9])]}), "m.x",
    )  # fmt: skip
    assert [part.tolist() for part in found.node_sets["ends"]] == [[1, 5]]
    assert np.concatenate(found.cell_sets["all"]).tolist() == [1, 2, 3]
    assert np.concatenate(found.cell_sets["skin"]).tolist() == [3]
    assert not any(name.startswith("gmsh:") for name in found.cell_sets) and not found.notes


def test_what_meshio_does_not_bring_is_said():
    odd = SimpleNamespace(type="polygon", data=[[0, 1, 2, 3, 4]])
    found = raw_of_meshio(sample(cells=[*sample().cells, odd]), "m.x")
    assert found.unsupported == {"polygon": 1}
    assert [note.code for note in found.notes] == ["mesh.no_sets"]


@pytest.mark.parametrize(
    "more, says",
    [
        ({"points": np.zeros((5, 4))}, r"its points have the shape \(5, 4\)"),
        ({"point_sets": {"s": [7]}}, 'node set "s" refers to nodes that do not exist'),
        ({"cell_sets": {"s": [[2], None]}}, 'cell set "s" refers to cells that do not exist'),
    ],
)
def test_damage_from_meshio_is_named(more, says):
    with pytest.raises(Damaged, match=says):
        raw_of_meshio(sample(**more), "m.x")


@pytest.mark.parametrize("compression", [None, "zlib", "lzma"])
@pytest.mark.parametrize("binary", [True, False])
def test_vtu_of_meshio_in_all_packings(tmp_path, compression, binary):
    mesh = meshio.Mesh(POINTS, [("tetra", TETS)], cell_data={"material": [np.array([3, 4])]})
    meshio.vtu.write(str(tmp_path / "a.vtu"), mesh, binary=binary, compression=compression)
    found = read_mesh(tmp_path / "a.vtu")
    np.testing.assert_array_equal(found.points, POINTS)
    np.testing.assert_array_equal(found.cells["tet4"], TETS)
    assert {"material_3", "material_4"} <= set(found.cell_sets)


@pytest.mark.parametrize(
    "change, says",
    [
        (("<Piece", "<Peace", "</Piece", "</Peace"), "the file has no Piece"),
        (('NumberOfPoints="5"', 'NumberOfPoints="x"'), 'the piece has NumberOfPoints="x"'),
        (('type="Float64"', 'type="Odd"'), 'has type "Odd"'),
        (('compressor="vtkZLibDataCompressor"', 'compressor="vtkOdd"'), "data packed by vtkOdd"),
        (('compressor="vtkZLibDataCompressor"', 'compressor="vtkLZMADataCompressor"'), "are damaged"),
    ],
)
def test_damaged_vtu_is_named(tmp_path, change, says):
    mesh = meshio.Mesh(POINTS, [("tetra", TETS)])
    meshio.vtu.write(str(tmp_path / "a.vtu"), mesh, compression="zlib")
    text = (tmp_path / "a.vtu").read_text()
    for old, new in zip(change[::2], change[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "a.vtu").write_text(text)
    with pytest.raises(fm.InputError, match=says):
        read_mesh(tmp_path / "a.vtu")


# ------------------------------------------------------------------ names of parts and instances


def test_names_of_the_assembly_reach_into_instances(tmp_path):
    """`I.SET`, a name that only one instance has, an element number, and what does not exist."""
    good = PART + "*NSET, NSET=TOP, INSTANCE=I\n1, 2\n*NSET, NSET=BOTH\nTOP, I.END\n"
    (tmp_path / "a.inp").write_text(good + "*SURFACE, NAME=S, TYPE=NODE\nEND\n*END ASSEMBLY\n")
    found = read_mesh(tmp_path / "a.inp")
    assert len(found.node_sets["BOTH"]) == 6 and len(found.node_sets["S"]) == 4


@pytest.mark.parametrize(
    "more, says",
    [
        ("*NSET, NSET=N, INSTANCE=J\n1", 'instance "J" is used and not defined'),
        ("*NSET, NSET=N\nI.NONE", 'node set "NONE" is used and not defined'),
        ("*NODE\n999, 9., 9., 9.\n*COUPLING, CONSTRAINT NAME=C, REF NODE=999, SURFACE=NONE\n*KINEMATIC",
         'surface "NONE" is used and not defined'),
    ],
)  # fmt: skip
def test_names_that_no_instance_has(tmp_path, more, says):
    (tmp_path / "a.inp").write_text(f"{PART}{more}\n*END ASSEMBLY\n")
    with pytest.raises(fm.InputError, match=says):
        read_mesh(tmp_path / "a.inp")


def test_a_surface_of_elements_without_a_face(tmp_path):
    text = abaqus(
        "*NODE\n100, 30., 5., 5.",
        "*SURFACE, NAME=F\nBAR, \n*COUPLING, CONSTRAINT NAME=C, REF NODE=100, SURFACE=F\n*KINEMATIC",
    )
    (tmp_path / "a.inp").write_text(text)
    with pytest.raises(fm.InputError, match='surface "F" names elements without a face'):
        read_mesh(tmp_path / "a.inp")
