"""The rod in NGSolve, as both NGSolve and Exudyn need it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.conrod import DENSITY, POISSON, YOUNG

LAME = YOUNG * POISSON / (1 + POISSON) / (1 - 2 * POISSON)
SHEAR = YOUNG / 2 / (1 + POISSON)


def netgen_mesh(rod: dict[str, np.ndarray]) -> Any:
    import ngsolve
    from netgen.meshing import FaceDescriptor
    from netgen.meshing import Mesh as NetgenMesh

    mesh = NetgenMesh(dim=3)
    mesh.AddPoints(np.ascontiguousarray(rod["corners"]))
    for number, name in ((1, "out"), (2, "big"), (3, "small")):
        mesh.Add(FaceDescriptor(bc=number, domin=1, surfnr=number))
        mesh.SetBCName(number - 1, name)
    mesh.SetMaterial(1, "steel")
    tets = rod["tets"][:, [0, 2, 1, 3]].astype(np.int32)  # netgen wants the other orientation
    mesh.AddElements(dim=3, index=1, data=np.ascontiguousarray(tets), base=0)
    for kind in (0, 1, 2):
        triangles = rod["triangles"][rod["bore_of"] == kind].astype(np.int32)
        mesh.AddElements(dim=2, index=kind + 1, data=np.ascontiguousarray(triangles), base=0)
    return ngsolve.Mesh(mesh)


def assemble(mesh: Any) -> tuple[Any, Any]:
    """K and M of NGSolve on second-order elements, pattern included."""
    import ngsolve as ng

    space = ng.VectorH1(mesh, order=2)
    u, v = space.TnT()

    def strain(w: Any) -> Any:
        return ng.Sym(ng.Grad(w))

    K, M = ng.BilinearForm(space), ng.BilinearForm(space)
    K += ng.InnerProduct(2 * SHEAR * strain(u) + LAME * ng.Trace(strain(u)) * ng.Id(3), strain(v)) * ng.dx
    M += DENSITY * u * v * ng.dx
    K.Assemble()
    M.Assemble()
    return K, M
