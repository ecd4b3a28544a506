"""What an FMU of another program says of itself (FMI 2 and 3, co-simulation); nothing in it is executed."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as xml

from flexmbs.errors import Diagnostic, InputError

#: no description is longer, unpacked
MOST_BYTES = 50_000_000


@dataclass(frozen=True)
class Described:
    """Real variables by name with their references; `direct`: inputs on which an output depends at once."""

    path: Path
    version: int
    identifier: str
    token: str
    inputs: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)
    parameters: dict[str, int] = field(default_factory=dict)
    direct: dict[str, frozenset[str]] = field(default_factory=dict)


def described(path: str | Path) -> Described:
    """Read the description of an FMU."""
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            entry = archive.getinfo("modelDescription.xml")
            if entry.file_size > MOST_BYTES:
                raise _wrong(path, f"its description has {entry.file_size} bytes, the limit is {MOST_BYTES}")
            root = xml.fromstring(archive.read(entry))
    except (OSError, KeyError, zipfile.BadZipFile, xml.ParseError, ValueError) as error:
        raise _wrong(path, f"is no FMU: {error}") from None
    version = root.get("fmiVersion", "")
    told = root.find("CoSimulation")
    if not version.startswith(("2.", "3.")):
        raise _wrong(path, f'is of FMI "{version}"; versions 2 and 3 are read')
    if told is None:
        raise _wrong(path, "is not for co-simulation")
    number, token = int(version[0]), root.get("guid" if version[0] == "2" else "instantiationToken", "")
    kinds: dict[str, dict[str, int]] = {"input": {}, "output": {}, "parameter": {}}
    names: dict[str, str] = {}
    variables = root.find("ModelVariables")
    for k, item in enumerate(variables if variables is not None else ()):
        is_real = item.find("Real") is not None if number == 2 else item.tag == "Float64"
        reference = item.get("valueReference", "")
        names[str(k + 1) if number == 2 else reference] = item.get("name", "")
        if is_real and item.find("Dimension") is None and item.get("causality") in kinds:
            kinds[str(item.get("causality"))][item.get("name", "")] = int(reference)
    listed = root.find("ModelStructure/Outputs" if number == 2 else "ModelStructure")
    direct: dict[str, frozenset[str]] = {}
    for item in listed if listed is not None else ():
        name = names.get(item.get("index" if number == 2 else "valueReference", ""), "")
        if item.tag in ("Unknown", "Output") and name in kinds["output"]:
            text = item.get("dependencies")  # where it does not say, on all of them
            found = kinds["input"] if text is None else {names.get(word, "") for word in text.split()}
            direct[name] = frozenset(found) & kinds["input"].keys()
    inputs, outputs, parameters = kinds.values()
    identifier = told.get("modelIdentifier", "")
    return Described(path, number, identifier, token, inputs, outputs, parameters, direct)


def _wrong(path: Path, what: str) -> InputError:
    return InputError(Diagnostic("fmu.description", str(path), what, "see what made it"))
