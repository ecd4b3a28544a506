"""Size, load time and cost of a step of an FMU: `python -m tests.benchmarks.fmu [carry]`; needs fmpy."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from flexmbs.case import Case
from flexmbs.fmu import export_fmu
from tests.benchmarks.stepping import ARM, STEP
from tests.fmu.test_export import Slave

COUNT, BATCHES = 200, 30


def main(carry: bool) -> None:
    case = Case.from_dict(ARM | {"analysis": {"t_end": 1.0, "method": "rk4", "step": STEP}})
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "arm.fmu"
        done = export_fmu(case, path, carry=carry)
        begun = time.perf_counter()
        slave = Slave(path, Path(name) / "a")
        loaded = time.perf_counter() - begun
        found = []
        for _ in range(BATCHES):
            begun = time.perf_counter()
            for _ in range(COUNT):
                slave.fmu.setFloat64([slave.numbers["inputs.torque"]], [1.0])
                slave.fmu.doStep(slave.t, STEP)
                slave.fmu.getFloat64([1, 2, 3])
                slave.t += STEP
            found.append((time.perf_counter() - begun) / COUNT)
        slave.close()
        unpacked = sum(item.stat().st_size for item in (Path(name) / "a").rglob("*") if item.is_file())
    sizes = f"{done['bytes'] / 1e3:.0f} kB, unpacked {unpacked / 1e3:.0f} kB"
    words = f"{sizes}, {loaded:.1f} s to unpack, load and initialize"
    print(f"{words}, {min(found) * 1e6:.0f} us to set, step and get")


if __name__ == "__main__":
    main("carry" in sys.argv[1:])
