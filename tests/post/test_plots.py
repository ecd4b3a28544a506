"""Channels by name, and figures."""

import builtins
import json

import numpy as np
import pytest

from flexmbs.cli.main import main
from flexmbs.errors import InputError, UsageError
from flexmbs.post.channels import catalogue, component_units, select
from flexmbs.post.curves import Curve, conversion, derivative, spectrogram, spectrum
from flexmbs.post.plots import PlotOptions, plot
from flexmbs.post.record import Record
from tests.post.synthetic import SPEED, write_result


@pytest.fixture(scope="module")
def record(result_path):
    return Record.load(result_path)


def names(record, *patterns):
    return [channel.name for channel in select(record, patterns)]


def test_channels_by_full_and_short_names(record):
    assert names(record, "bodies.rod.q[2]") == ["bodies.rod.q[2]"] == names(record, "rod.q[2]")
    assert names(record, "rod.q") == [f"bodies.rod.q[{k}]" for k in range(4)]
    assert names(record, "slider.position.x") == ["bodies.slider.position.x"]
    assert names(record, "mid.y") == ["sensors.mid.y"]
    assert names(record, "main.position") == ["joints.main.position"]


def test_named_components_also_have_numbers(record):
    assert names(record, "slider.position[0]") == ["bodies.slider.position.x"]
    assert names(record, "main.position[0]") == ["joints.main.position"]


def test_units_of_mixed_datasets_are_those_of_their_components(record, monkeypatch):
    monkeypatch.setattr(Record, "unit", lambda self, path: "rad, m" if "mid" in path else "N, N m, modal")
    assert component_units(record, "sensors/mid", 2) == ["rad", "m"]
    monkeypatch.setattr(Record, "unit", lambda self, path: "N, N m" if "press" in path else "N, N m, modal")
    assert component_units(record, "sensors/press", 6) == ["N"] * 3 + ["N m"] * 3
    assert component_units(record, "bodies/rod/applied", 8) == ["N"] * 3 + ["N m"] * 3 + ["modal"] * 2


def test_channels_by_pattern(record):
    assert "energy.kinetic" in names(record, "energy.*") and len(names(record, "energy.*")) == 7
    assert names(record, "*.position.y") == [f"bodies.{b}.position.y" for b in ("crank", "rod", "slider")]
    assert names(record, "rod.q[?]") == names(record, "rod.q")
    assert names(record, "rod.q[0]", "rod.q") == names(record, "rod.q")  # each once


def test_unknown_channels_are_named_all_at_once(record):
    with pytest.raises(InputError) as caught:
        select(record, ["rod.qq", "energie.kinetic"])
    assert len(caught.value.diagnostics) == 2 and "energy.kinetic" in str(caught.value)
    for wrong, advice in (
        ("rod.qq", 'did you mean "rod.q"?'),
        ("slider.zzzzzzzzzzzz", "choices: slider."),
        ("nothing", "choices: "),
    ):
        with pytest.raises(InputError) as caught:
            select(record, [wrong])
        assert advice in str(caught.value) and "acceleration.x" not in str(caught.value)


def test_values_are_those_of_the_file(record):
    for channel in catalogue(record):
        data = np.asarray(record.require(channel.path)).reshape(record.n_samples, -1)
        np.testing.assert_array_equal(channel.values(record), data[:, channel.column])


def test_units_are_converted_within_their_kind():
    assert conversion("m", ["deg", "mm"]) == (pytest.approx(1e-3), "mm")
    assert conversion("rad/s", ["rpm"]) == (pytest.approx(np.pi / 30), "rpm")
    assert conversion("Pa", []) == (pytest.approx(1e6), "MPa")
    assert conversion("kg^0.5*m", ["mm"])[1] == "kg^0.5*m"
    with pytest.raises(UsageError, match="furlong"):
        conversion("m", ["furlong"])


def test_derivative_and_spectrum_of_a_sine():
    t = np.linspace(0.0, 1.0, 2001)
    sine = Curve("a", t, 0.3 * np.sin(2 * np.pi * 40 * t), "m")
    rate = derivative(sine)
    np.testing.assert_allclose(rate.y, 0.3 * 80 * np.pi * np.cos(80 * np.pi * t), atol=0.4)  # differences
    assert rate.unit == "m/s"
    twice = derivative(sine, 2)
    np.testing.assert_allclose(twice.y[5:-5], -((80 * np.pi) ** 2) * sine.y[5:-5], atol=300)  # differences
    assert (twice.name, twice.unit) == ("d^2/dt^2 a", "m/s^2")
    lines = spectrum(sine)
    k = int(np.argmax(lines.y))
    assert lines.x[k] == pytest.approx(40.0, abs=0.1) and lines.y[k] == pytest.approx(0.3, rel=1e-2)  # window
    pieces = spectrogram(sine)
    assert pieces.frequency[np.argmax(pieces.amplitude.mean(axis=1))] == pytest.approx(40.0, abs=8.0)  # width


def test_a_spectrum_needs_samples():
    with pytest.raises(UsageError, match="needs 8"):
        spectrum(Curve("a", np.arange(4.0), np.arange(4.0), "m"))
    with pytest.raises(UsageError, match="two samples"):
        derivative(Curve("a", np.zeros(1), np.zeros(1), "m"))


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_figures_are_written_and_repeat(ending, result_path, tmp_path):
    for name in ("a", "b"):
        plot([result_path], ["rod.q", "energy.*", "slider.position.x"], tmp_path / f"{name}.{ending}")
    first = (tmp_path / f"a.{ending}").read_bytes()
    assert first == (tmp_path / f"b.{ending}").read_bytes() and len(first) > 5000


def test_axes_have_labels_with_units_and_a_legend(result_path, tmp_path, monkeypatch):
    from flexmbs.post import plots

    kept = {}
    monkeypatch.setattr(
        plots, "write_figure", lambda figure, path: (kept.update(f=figure), path.write_text(""))
    )
    plot([result_path], ["rod.q", "slider.position.x"], tmp_path / "a.svg", PlotOptions(units=("mm",)))
    labels = [axis.get_ylabel() for axis in kept["f"].axes]
    assert labels == ["rod.q [-]", "slider.position.x [mm]"]
    assert kept["f"].axes[-1].get_xlabel() == "time [s]"
    assert len(kept["f"].axes[0].get_legend().get_texts()) == 4


def test_comparison_derivative_and_extremes(result_path, tmp_path):
    other = write_result(tmp_path / "other.h5", n=101)
    options = PlotOptions(derivative=1, units=("deg",), end=0.05)
    done = plot([result_path, other], ["main.position"], tmp_path / "a.svg", options)
    assert [item["source"] for item in done["curves"]] == ["slider.h5", "other.h5"]
    assert done["curves"][1]["max"] == pytest.approx(np.degrees(SPEED)) and done["curves"][1]["samples"] == 51


def test_results_of_one_name_are_told_apart(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_result(tmp_path / name / "r.h5", n=11)
    found = plot(
        [tmp_path / "one" / "r.h5", tmp_path / "two" / "r.h5"], ["main.position"], tmp_path / "a.svg"
    )
    assert [c["source"] for c in found["curves"]] == ["one/r.h5", "two/r.h5"]


def test_command_speaks_json(result_path, tmp_path, capsys):
    assert main(["plot", str(result_path), "energy.kinetic", "-o", str(tmp_path / "a.svg"), "--json"]) == 0
    again = ["plot", "--overwrite", str(result_path)]
    done = json.loads(capsys.readouterr().out)
    assert done["curves"][0]["max"] == pytest.approx(4.0)
    assert main([*again, "energy.kinetic", "--fft", "-o", str(tmp_path / "a.svg")]) == 0
    assert main([*again, "mid.y", "--against", "rod.q", "-o", str(tmp_path / "a.svg")]) == 2
    assert main([*again, "mid.y", "-o", str(tmp_path / "a.bmp")]) == 2
    assert main([*again, "mid.y", "--from", "3", "-o", str(tmp_path / "a.svg")]) == 2
    capsys.readouterr()
    assert main([*again, "mid.y", "--unit", "Hz", "-o", str(tmp_path / "a.svg")]) == 2
    assert 'no channel of the figure can be shown in "Hz"; its units: ' in capsys.readouterr().err
    assert main([*again, "mid.y", "--unit", "mm", "-o", str(tmp_path / "a.svg")]) == 0


def test_without_matplotlib_the_command_says_how_to_get_it(result_path, tmp_path, monkeypatch, capsys):
    real = builtins.__import__

    def absent(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    assert main(["plot", str(result_path), "mid.y", "-o", str(tmp_path / "a.svg")]) == 5
    assert 'pip install "flexmbs[plot]"' in capsys.readouterr().err
