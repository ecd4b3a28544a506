"""Programs that some tests need besides Python: named when missing, and a failure where they are promised."""

import importlib.util
import os
import shutil

import pytest

# where CI=true, everything here is installed by .ci/run, and a missing one is a failure
INSTALL = {
    "ccx": "apt-get install calculix-ccx",
    "chromium": "apt-get install chromium",
    "fish": "apt-get install fish",
    "zsh": "apt-get install zsh",
    "ffmpeg": "apt-get install ffmpeg",
    "ncdump": "apt-get install netcdf-bin",
    "h5dump": "apt-get install hdf5-tools",
    "gmsh": "pip install gmsh",
    "vtk": "pip install vtk",
    "exudyn": "pip install exudyn",
    "pinocchio": "pip install pin",
    "sksundae": "pip install scikit-sundae",
    "pyarrow": "pip install pyarrow",
    "xarray": "pip install xarray",
    "pandas": "pip install pandas",
    "netCDF4": "pip install netCDF4",
    "rainflow": "pip install rainflow",
    "yourdfpy": "pip install yourdfpy",
    "mujoco": "pip install mujoco",
    "gymnasium": "pip install gymnasium",
    "distributed": "pip install distributed",
    "cryptography": "pip install cryptography",
    "optuna": "pip install optuna",
    "pymoo": "pip install pymoo",
    "fmpy": "pip install fmpy",
    "asammdf": "pip install asammdf",
    "cc": "apt-get install gcc libc6-dev",
    "ip": "apt-get install iproute2",
    "DyMat": "pip install DyMat",
    "cmeel": "pip install example-robot-data",
    "taplo": "pip install taplo",
    "mkdocs": 'pip install "flexmbs[docs]"',
}

missing: set[str] = set()


def present(name: str) -> bool:
    return shutil.which(name) is not None or importlib.util.find_spec(name) is not None


@pytest.fixture(autouse=True)
def _needs(request):
    """`@pytest.mark.needs("ccx")`: skip with the name where it is missing, fail where CI promises it."""
    for mark in request.node.iter_markers("needs"):
        for name in mark.args:
            if not present(name):
                missing.add(name)
                reason = f"{name} is not installed ({INSTALL[name]})"
                if os.environ.get("CI") == "true":
                    pytest.fail(reason)
                pytest.skip(reason)


def pytest_terminal_summary(terminalreporter):
    for name in sorted(missing):
        terminalreporter.write_line(f"NOT TESTED: {name} is not installed; {INSTALL[name]}")
