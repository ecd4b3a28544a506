"""The file `*.modal.h5` (docs/modal_file.md): written whole, read only after full validation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs import __version__, hdf5
from flexmbs.ffrf.integrals import RIGID_TERMS, ShapeIntegrals, held_integrals
from flexmbs.modaldata.data import InterfaceData, ModalData, StaticStress
from flexmbs.modaldata.mesh_store import read_mesh, safe, write_mesh
from flexmbs.modaldata.validate import Reader, check

FORMAT = "flexmbs-modal"
VERSION = 1

#: inertia datasets: name -> equation
INERTIA = {
    "mass": "F2", "S_O": "F3", "S_f": "F4", "Theta_kl": "F5", "I_kl": "F6", "S_kl": "F7",
    "m_ff": "F8", "K_ff": "F9", "D_ff": "F14", "K_geo": "F17",
}  # fmt: skip
RIGID = {"mass": "kg", "S_O": "kg m", "Theta_kl": "kg m^2"}
#: units per modal coordinate: given shapes are numbers and their coordinates lengths
GIVEN = {
    "Phi": "1", "Psi": "rad/m", "stress": "Pa/m", "S_f": "kg", "I_kl": "kg m", "S_kl": "kg",
    "m_ff": "kg", "K_ff": "N/m", "D_ff": "N s/m", "K_geo": "N/m per unit load",
}  # fmt: skip
#: mass-normalised modes have kg^-0.5, and their coordinates m kg^0.5
NORMALISED = {
    "Phi": "kg^-0.5", "Psi": "rad/(m kg^0.5)", "stress": "Pa/(m kg^0.5)", "S_f": "kg^0.5", "I_kl": "m kg^0.5",
    "S_kl": "1", "m_ff": "1", "K_ff": "s^-2", "D_ff": "s^-1", "K_geo": "s^-2 per unit load",
}  # fmt: skip
QUALITY = {
    "mass": "kg",
    "com": "m",
    "inertia": "kg m^2",
    "reduction_error_at_hz": "Hz",
    "reduction_band_hz": "Hz",
    "reduction_good_hz": "Hz",
    "interest_hz": "Hz",
}


def units_of(method: str) -> dict[str, str]:
    """Units of mode shapes and integrals, which depend on how the modes are scaled."""
    return RIGID | (GIVEN if method == "given" else NORMALISED)


def save(modal: ModalData, path: str | Path, *, overwrite: bool) -> None:
    """Write the file whole or not at all."""
    check(modal)

    def fill(root: hdf5.Node) -> None:
        hdf5.attributes(
            root,
            source_sha256=modal.source_sha256,
            method=modal.method,
            frame=modal.frame,
            mass_formalism=modal.mass_formalism,
            unit_system="SI",
            creator=f"flexmbs {__version__}",
        )
        write_mesh(root.create_group("mesh"), modal.mesh)
        _write_material(root.create_group("material"), modal.materials)
        _write_interfaces(root.create_group("interfaces"), modal.interfaces, units_of(modal.method))
        _write_modes(root.create_group("modes"), modal)
        _write_inertia(root.create_group("inertia"), modal.integrals, units_of(modal.method))
        _write_quality(root.create_group("quality"), modal.quality)
        hdf5.write_tree(root.create_group("provenance"), modal.provenance)

    hdf5.build_file(path, fill, format=FORMAT, version=VERSION, overwrite=overwrite)


def _write_material(group: hdf5.Node, materials: Mapping[str, Mapping[str, float]]) -> None:
    units = {"E": "Pa", "rho": "kg/m^3"}
    for name, values in materials.items():
        part = group.create_group(safe(name))
        for key, value in values.items():
            hdf5.dataset(part, key, np.asarray(value, dtype=float), units=units.get(key, "1"))


def _write_interfaces(
    group: hdf5.Node, interfaces: Mapping[str, InterfaceData], units: Mapping[str, str]
) -> None:
    hdf5.attributes(group, order=list(interfaces))
    for name, item in interfaces.items():
        part = group.create_group(safe(name))
        hdf5.attributes(part, type=item.type, dofs=item.dofs)
        hdf5.dataset(part, "position", item.position, units="m")
        hdf5.dataset(part, "rotation", item.rotation)
        hdf5.dataset(part, "type", item.type)
        hdf5.dataset(part, "nodes", item.nodes)
        hdf5.dataset(part, "weights", item.weights)
        hdf5.dataset(part, "Phi", item.Phi, units=units["Phi"], equation="F18")
        hdf5.dataset(part, "Psi", item.Psi, units=units["Psi"], equation="F18")


def _write_modes(group: hdf5.Node, modal: ModalData) -> None:
    nf, units = modal.nf, units_of(modal.method)
    mode = hdf5.scale(group, "mode", np.arange(1, nf + 1))
    xyz = hdf5.scale(group, "xyz", ["x", "y", "z"])
    hdf5.dataset(group, "Phi", modal.Phi, units=units["Phi"], equation="F1", scales=(mode, None, xyz))
    if modal.Psi is not None:
        hdf5.dataset(group, "Psi", modal.Psi, units=units["Psi"], equation="F18", scales=(mode, None, xyz))
    hdf5.dataset(group, "frequency_hz", modal.frequency_hz, units="Hz", equation="F51", scales=(mode,))
    kinds = hdf5.text_array(list(modal.kind)) if nf else np.zeros(0, dtype="S1")
    hdf5.dataset(group, "kind", kinds, scales=(mode,))
    hdf5.dataset(group, "effective_mass", modal.effective_mass, units="kg (kg m^2)", scales=(mode,))
    if modal.stress is not None:
        component = hdf5.scale(group, "component", ["xx", "yy", "zz", "xy", "yz", "zx"])
        hdf5.dataset(
            group,
            "stress",
            modal.stress,
            units=units["stress"],
            equation="F53",
            scales=(mode, None, component),
            at=modal.stress_at,
        )
    if modal.static_stress is not None:
        _write_static_stress(group, modal.static_stress)
    if modal.preload_stress is not None:
        hdf5.dataset(group, "preload_stress", modal.preload_stress, units="Pa", equation="F53")
    if modal.preload_field is not None:
        hdf5.dataset(group, "preload_field", modal.preload_field, units="m, rad", equation="F53")
    if modal.preload_strain is not None:
        hdf5.dataset(group, "preload_strain", modal.preload_strain, units="1", equation="F53")


def _write_static_stress(group: hdf5.Node, static: StaticStress) -> None:
    """What the modes miss of the stresses of the unit loads; the loads are those of `/inertia/K_geo`."""
    hdf5.dataset(group, "static_stress", static.stress, units="Pa", equation="F53")
    hdf5.dataset(group, "static_share", static.share, units="1 per unit load", equation="F53")
    hdf5.dataset(group, "static_q", static.q, units="m kg^0.5 per unit load", equation="F53")
    if static.field is not None:
        hdf5.dataset(group, "static_field", static.field, units="m, rad", equation="F53")


def _write_inertia(group: hdf5.Node, integrals: ShapeIntegrals, units: Mapping[str, str]) -> None:
    for name, equation in INERTIA.items():
        extra: dict[str, Any] = {"loads": list(integrals.loads)} if name == "K_geo" else {}
        data = np.asarray(getattr(integrals, name), dtype=float)
        hdf5.dataset(group, name, data, units=units[name], equation=equation, **extra)


def _write_quality(group: hdf5.Node, quality: Mapping[str, Any]) -> None:
    hdf5.attributes(group, rigid_modes=int(quality.get("rigid_modes", 6)))
    hdf5.write_tree(group, {key: _storable(value) for key, value in quality.items() if key not in QUALITY})
    for key, units in QUALITY.items():
        if key in quality:
            hdf5.dataset(group, key, np.asarray(quality[key], dtype=float), units=units)


def _storable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple) and not value:
        return np.zeros(0)
    return value


def load(path: str | Path) -> ModalData:
    """Read a file after full validation of names, shapes, symmetry, ranges and checksum."""
    with hdf5.open_checked(path, format=FORMAT, max_version=VERSION) as root:
        reader = Reader(root, Path(path).name)
        modal = _read(reader, str(path))
        check(modal)
        return modal


def _read(reader: Reader, source: str) -> ModalData:
    frame = reader.text_attribute("", "frame")
    integrals = _read_inertia(reader, held=frame == "held")
    mesh = read_mesh(reader)
    nf, n = integrals.nf, mesh.n_nodes
    interfaces = {}
    for name in reader.names("interfaces"):
        at = f"interfaces/{name}/"
        interfaces[name] = InterfaceData(
            position=reader.floats(at + "position", (3,)),
            rotation=reader.floats(at + "rotation", (3, 3)),
            Phi=reader.floats(at + "Phi", (3, nf)),
            Psi=reader.floats(at + "Psi", (3, nf)),
            nodes=reader.indices(at + "nodes", (None,), n),
            weights=reader.floats(at + "weights", (None,)),
            type=reader.text_attribute("interfaces/" + name, "type"),
            dofs=reader.text_attribute("interfaces/" + name, "dofs"),
        )
    return ModalData(
        mesh=mesh,
        integrals=integrals,
        Phi=reader.floats("modes/Phi", (nf, n, 3)),
        Psi=reader.floats("modes/Psi", (nf, n, 3)) if reader.has("modes/Psi") else None,
        stress=reader.floats("modes/stress", (nf, None, 6)) if reader.has("modes/stress") else None,
        stress_at=reader.text_attribute("modes/stress", "at") if reader.has("modes/stress") else "none",
        static_stress=_read_static_stress(reader, nf, len(integrals.loads), n),
        preload_stress=(
            reader.floats("modes/preload_stress", (None, 6)) if reader.has("modes/preload_stress") else None
        ),
        preload_field=(
            reader.floats("modes/preload_field", (n, 6)) if reader.has("modes/preload_field") else None
        ),
        preload_strain=(
            reader.floats("modes/preload_strain", (mesh.n_cells, 3))
            if reader.has("modes/preload_strain")
            else None
        ),
        frequency_hz=reader.floats("modes/frequency_hz", (nf,)),
        kind=tuple(reader.texts("modes/kind", nf)),
        effective_mass=reader.floats("modes/effective_mass", (nf, 6)),
        interfaces=interfaces,
        materials=reader.tree("material"),
        quality=reader.quality(),
        provenance=reader.tree("provenance"),
        method=reader.text_attribute("", "method"),
        frame=frame,
        mass_formalism=reader.text_attribute("", "mass_formalism"),
        source_sha256=reader.text_attribute("", "source_sha256"),
        source=source,
    )


def _read_static_stress(reader: Reader, nf: int, n_loads: int, n_nodes: int) -> StaticStress | None:
    """None where the file has none: those of older programs, and bodies without unit loads."""
    if not reader.has("modes/static_stress"):
        return None
    return StaticStress(
        stress=reader.floats("modes/static_stress", (None, None, 6)),
        share=reader.floats("modes/static_share", (None, n_loads)),
        q=reader.floats("modes/static_q", (nf, n_loads)),
        field=(
            reader.floats("modes/static_field", (None, n_nodes, 6))
            if reader.has("modes/static_field")
            else None
        ),
    )


def _read_inertia(reader: Reader, *, held: bool) -> ShapeIntegrals:
    nf = reader.shape("inertia/m_ff", 2)[0]
    shapes: dict[str, tuple[int | None, ...]] = {
        "S_O": (3,),
        "S_f": (3, nf),
        "Theta_kl": (3, 3),
        "I_kl": (3, 3, nf),
        "S_kl": (3, 3, nf, nf),
        "m_ff": (nf, nf),
        "K_ff": (nf, nf),
        "D_ff": (nf, nf),
        "K_geo": (None, nf, nf),
    }
    loads = tuple(reader.text_list("inertia/K_geo", "loads"))
    if not loads:
        shapes["K_geo"] = (0, None, None)
    if held:  # all else is not known
        known = ("m_ff", "K_ff", "D_ff")
        found = held_integrals(*(reader.floats(f"inertia/{name}", shapes[name]) for name in known))
        for name in RIGID_TERMS:
            reader.not_known(f"inertia/{name}", np.shape(getattr(found, name)))
        return found
    values = {name: reader.floats(f"inertia/{name}", shape) for name, shape in shapes.items()}
    return ShapeIntegrals(mass=float(reader.floats("inertia/mass", ())), loads=loads, **values)
