"""the installation: versions, optional components, kernel cache, memory

Says for everything that is missing what it is for and which command installs it.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import shutil
from pathlib import Path
from typing import Any

from flexmbs import __version__
from flexmbs.cli.output import Output

REQUIRED = ["numpy", "scipy", "numba", "h5py", "meshio", "scikit-fem", "pymetis", "pydantic", "threadpoolctl"]

# module, distribution, what it is for, command that installs it
OPTIONAL = [
    ("matplotlib", "matplotlib", "plots", 'pip install "flexmbs[plot]"'),
    ("gmsh", "gmsh", "meshes from CAD", 'pip install "flexmbs[cad]"'),
    ("xarray", "xarray", "results as xarray trees", 'pip install "flexmbs[data]"'),
    ("pyarrow", "pyarrow", "export to Parquet", 'pip install "flexmbs[data]"'),
    ("vtk", "vtk", "pictures and films without a browser", 'pip install "flexmbs[vtk]"'),
    ("sksundae", "scikit-sundae", "CVODE and IDA", 'pip install "flexmbs[sundials]"'),
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pass


def version_of(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def kernel_cache() -> dict[str, Any]:
    from flexmbs._jit import cache_root

    root = cache_root()
    files = [path for path in root.rglob("*.nbc")] if root.is_dir() else []
    probe = root if root.is_dir() else next(parent for parent in root.parents if parent.is_dir())
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    return {
        "folder": str(root),
        "writable": os.access(probe, os.W_OK),
        "kernels": len(files),
        "megabytes": round(megabytes, 1),
    }


def memory_gib() -> float:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)


def run(args: argparse.Namespace) -> Output:
    required = {name: version_of(name) for name in REQUIRED}
    optional = {dist: version_of(dist) for module, dist, _, _ in OPTIONAL}
    cache = kernel_cache()
    data = {
        "flexmbs": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "memory_gib": memory_gib(),
        "free_disk_gib": round(shutil.disk_usage(Path.cwd()).free / 2**30, 1),
        "required": required,
        "optional": optional,
        "kernel_cache": cache,
    }
    lines = [f"flexmbs {__version__}, Python {data['python']}, {data['platform']}"]
    lines.append(f"{data['cores']} cores, {data['memory_gib']} GiB, {data['free_disk_gib']} GiB free here")
    lines += [
        f"  {name:<14} {version or 'MISSING: pip install flexmbs'}" for name, version in required.items()
    ]
    for _, dist, purpose, command in OPTIONAL:
        lines.append(f"  {dist:<14} {optional[dist] or f'not installed ({purpose}): {command}'}")
    state = (
        ""
        if cache["writable"]
        else "  NOT WRITABLE: kernels are compiled anew in every run; set FLEXMBS_CACHE"
    )
    lines.append(
        f"kernel cache {cache['folder']}: {cache['kernels']} kernels, {cache['megabytes']} MB{state}"
    )
    return Output("\n".join(lines), data)
