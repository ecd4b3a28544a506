"""The child process of a measurement: `python -m tests.benchmarks.child NAME ARGS`."""

import json
import sys

from tests.benchmarks import dynamics, flexible_rows, pieces, slepc, stage1, start
from tests.benchmarks.runner import MEASUREMENTS, peak_memory_gb

if __name__ == "__main__":
    registered = {module.__name__ for module in (dynamics, flexible_rows, pieces, slepc, stage1, start)}
    assert registered <= set(sys.modules)  # they register the measurements
    numbers = MEASUREMENTS[sys.argv[1]](*sys.argv[2:])
    print(json.dumps({**numbers, "peak_gb": round(peak_memory_gb(), 3)}))
