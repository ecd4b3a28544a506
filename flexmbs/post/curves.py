"""Curves out of channels: unit, derivative, spectrum; numbers only, drawing is in `plots`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flexmbs.errors import Diagnostic, UsageError
from flexmbs.post.channels import Channel
from flexmbs.post.record import Floats, Record
from flexmbs.units import UnitError, parse_quantity

#: shown unit where the file has the one of the left and the user asks for none
FAMILIAR = {"Pa": "MPa"}


@dataclass(frozen=True)
class Curve:
    """y over x: `name`, units of both axes, `source` the result it comes from."""

    name: str
    x: Floats
    y: Floats
    unit: str
    x_unit: str = "s"
    source: str = ""


def curve(record: Record, channel: Channel, wanted: Sequence[str] = ()) -> Curve:
    """A channel over time, in the wanted unit of its kind."""
    factor, unit = conversion(channel.unit, wanted)
    return Curve(channel.short, record.time, channel.values(record) / factor, unit, source=record.path.name)


def conversion(unit: str, wanted: Sequence[str]) -> tuple[float, str]:
    """Factor and name of the unit shown for values in `unit`: the wanted one of that dimension, if any."""
    try:
        here = parse_quantity(f"1 {unit}") if unit else None
    except UnitError:  # a unit of the file that people cannot choose, such as kg^0.5
        here = None
    for name in (*wanted, FAMILIAR.get(unit, "")):
        if not name:
            continue
        try:
            other = parse_quantity(f"1 {name}")
        except UnitError as error:
            raise UsageError(Diagnostic("plot.unit", "--unit", str(error))) from None
        if here is not None and other.dimension == here.dimension:
            return other.value / here.value, name
    return 1.0, unit


def derivative(item: Curve, order: int = 1) -> Curve:
    """Rate of change, by differences of second order; needs two samples."""
    if len(item.x) < 2:
        raise UsageError(Diagnostic("plot.derivative", item.name, "needs two samples at least", "run longer"))
    rate = item.y
    for _ in range(order):
        rate = np.gradient(rate, item.x, edge_order=2) if len(item.x) > 2 else np.gradient(rate, item.x)
    power = f"^{order}" if order > 1 else ""
    unit = f"{item.unit or '1'}/{item.x_unit}{power}"
    return replace(item, name=f"d{power}/dt{power} {item.name}", y=rate, unit=unit)


def uniform(item: Curve) -> tuple[float, Floats]:
    """Sampling rate and values on even times, by linear interpolation where the samples are uneven."""
    if len(item.x) < 8:
        raise UsageError(
            Diagnostic(
                "plot.spectrum", item.name, f"has {len(item.x)} samples, a spectrum needs 8", "run longer"
            )
        )
    even = np.linspace(item.x[0], item.x[-1], len(item.x))
    return (len(even) - 1) / (even[-1] - even[0]), np.interp(even, item.x, item.y)


def spectrum(item: Curve) -> Curve:
    """Amplitude over frequency: mean removed, Hann window; a sine of amplitude 1 in a line shows 1."""
    rate, y = uniform(item)
    window = np.hanning(len(y))
    amplitude = 2.0 * np.abs(np.fft.rfft((y - y.mean()) * window)) / window.sum()
    frequency = np.fft.rfftfreq(len(y), 1.0 / rate).astype(float)
    return replace(item, name=f"|{item.name}|", x=frequency, y=amplitude, x_unit="Hz")


@dataclass(frozen=True)
class Spectrogram:
    """Amplitude (frequency, time) of a curve."""

    curve: Curve
    frequency: Floats
    time: Floats
    amplitude: Floats


def spectrogram(item: Curve) -> Spectrogram:
    """Spectra of overlapping pieces, an eighth of the record each."""
    from scipy.signal import spectrogram as pieces

    rate, y = uniform(item)
    length = int(np.clip(len(y) // 8, 8, 1024))
    frequency, time, power = pieces(
        y - y.mean(), rate, nperseg=length, noverlap=(7 * length) // 8, scaling="spectrum"
    )
    return Spectrogram(item, frequency, time + item.x[0], np.sqrt(2.0 * power))
