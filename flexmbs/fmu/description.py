"""modelDescription.xml of an FMU (FMI 3.0)."""

from __future__ import annotations

from xml.etree import ElementTree as xml

from flexmbs import __version__, units
from flexmbs.fmu.variables import Port, Ports


def description(
    identifier: str, title: str, token: str, ports: Ports, times: tuple[float, float], carried: bool
) -> bytes:
    """The file; `times` are the end and the step of an experiment that suits the case."""
    root = xml.Element(
        "fmiModelDescription",
        fmiVersion="3.0",
        modelName=identifier,
        instantiationToken=token,
        description=title or identifier,
        generationTool=f"flexmbs {__version__}",
        variableNamingConvention="structured",
    )
    xml.SubElement(
        root,
        "CoSimulation",
        modelIdentifier=identifier,
        needsExecutionTool="false" if carried else "true",
        canGetAndSetFMUState="true",
        canSerializeFMUState="true",
        canHandleVariableCommunicationStepSize="true",
    )
    used = {port.unit for part in (ports.outputs, ports.inputs) for port in part if port.unit}
    if used:
        definitions = xml.SubElement(root, "UnitDefinitions")
        for name in sorted(used):
            xml.SubElement(xml.SubElement(definitions, "Unit", name=name), "BaseUnit", _base(name))
    log = xml.SubElement(root, "LogCategories")
    for name in ("logStatusWarning", "logStatusError"):
        xml.SubElement(log, "Category", name=name)
    end, step = times
    experiment = {"startTime": "0.0"} | ({"stopTime": repr(end), "stepSize": repr(step)} if end > 0.0 else {})
    xml.SubElement(root, "DefaultExperiment", experiment)
    variables = xml.SubElement(root, "ModelVariables")
    xml.SubElement(
        variables,
        "Float64",
        name="time",
        valueReference="0",
        causality="independent",
        variability="continuous",
    )
    for port in (*ports.outputs, *ports.metrics):
        _variable(variables, port, causality="output", variability="continuous", initial="calculated")
    for port in ports.inputs:
        _variable(variables, port, causality="input", variability="continuous", start=repr(port.start))
    for port in ports.parameters:
        _variable(
            variables,
            port,
            causality="parameter",
            variability="fixed",
            initial="exact",
            start=repr(port.start),
        )
    structure = xml.SubElement(root, "ModelStructure")
    for kind in ("Output", "InitialUnknown"):
        for port in (*ports.outputs, *ports.metrics):
            xml.SubElement(structure, kind, valueReference=str(port.reference))
    xml.indent(root)
    return bytes(xml.tostring(root, encoding="UTF-8", xml_declaration=True))


def _variable(parent: xml.Element, port: Port, **attributes: str) -> None:
    named = {"name": port.name, "valueReference": str(port.reference)}
    xml.SubElement(parent, "Float64", named | ({"unit": port.unit} if port.unit else {}) | attributes)


def _base(name: str) -> dict[str, str]:
    """A unit in base units; turns count as numbers."""
    found = units.parse_quantity(f"1 {name}")
    powers = dict(zip(("m", "kg", "s", "rad"), (found.dimension or units.NONE)[:4], strict=True))
    factor = {"factor": repr(found.value)} if found.value != 1.0 else {}
    return {name: str(power) for name, power in powers.items() if power} | factor
