"""meshio in a process of its own, with limits: a script that `meshio_formats` runs.

Some files make meshio read on without end, take gigabytes or leave the interpreter. Reads a JSON job from
standard input; writes an answer {error, kind} or what the mesh holds, whose arrays are in the file `arrays`.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
from typing import Any

import numpy as np


def packed(mesh: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """Names and structure of a mesh; its arrays by number. Writes: arrays."""

    def keep(value: Any) -> str | None:
        if value is None:
            return None
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise ValueError(f"an array of {array.dtype}")
        arrays[f"a{len(arrays)}"] = array
        return f"a{len(arrays) - 1}"

    def tags(name: str) -> dict[str, list[str]]:
        return {str(key): [str(x) for x in names] for key, names in (getattr(mesh, name, None) or {}).items()}

    return {
        "points": keep(mesh.points),
        "cells": [
            (block.type, keep(block.data) if is_table(block.data) else None, len(block.data))
            for block in mesh.cells
        ],
        "point_data": {str(key): keep(value) for key, value in mesh.point_data.items()},
        "cell_data": {str(key): [keep(part) for part in value] for key, value in mesh.cell_data.items()},
        "point_sets": {str(key): keep(value) for key, value in (mesh.point_sets or {}).items()},
        "cell_sets": {
            str(key): [keep(part) for part in value] for key, value in (mesh.cell_sets or {}).items()
        },
        "cell_tags": tags("cell_tags"),
        "point_tags": tags("point_tags"),
    }


def is_table(data: Any) -> bool:
    """Polyhedra are lists of unequal lists."""
    return isinstance(data, np.ndarray) and data.dtype.kind in "iu"


def run(job: dict[str, Any]) -> dict[str, Any]:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (job["seconds"], job["seconds"] + 1))
    silent = io.StringIO()
    with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
        try:
            import meshio  # before the limit on memory, which is for the file

            with contextlib.suppress(OSError, ValueError), open("/proc/self/statm") as file:
                here = int(file.read().split()[5]) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_DATA, 2 * (here + job["memory"],))
            arrays: dict[str, Any] = {}
            answer = packed(meshio.read(job["source"], file_format=job["format"]), arrays)
            np.savez(job["arrays"], **arrays)
            return answer
        except ModuleNotFoundError as error:
            return {"kind": "missing", "error": str(error.name)}
        except SystemExit:
            return {"kind": "damaged", "error": " ".join(silent.getvalue().split())[-200:]}
        except MemoryError:
            return {"kind": "damaged", "error": "it claims more memory than a file of its size may take"}
        except Exception as error:
            return {"kind": "damaged", "error": f"{type(error).__name__}: {str(error)[:160]}"}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
