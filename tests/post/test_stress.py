"""Stress recovery against formulas of the rod, and its size."""

import json
import resource

import numpy as np
import pytest

from flexmbs import hdf5
from flexmbs.cli.main import main
from flexmbs.errors import InputError
from flexmbs.post import recovery
from flexmbs.post.record import Record
from flexmbs.post.recovery_files import write_recovery
from flexmbs.post.stress import envelope, extremes, hot_spots, principal, signed_von_mises, strain, von_mises
from tests.post.synthetic import LENGTH, E, coordinates, mode_fields, rod_modal


def tensors(count, seed=3):
    return np.random.default_rng(seed).normal(size=(count, 6)) * 1e8


def test_principal_and_von_mises_of_random_tensors():
    sigma = tensors(200)
    s1, s2, s3 = principal(sigma).T
    np.testing.assert_allclose(
        von_mises(sigma), np.sqrt(0.5 * ((s1 - s2) ** 2 + (s2 - s3) ** 2 + (s3 - s1) ** 2)), rtol=1e-10
    )
    uniaxial = np.array([[-5.0, 0, 0, 0, 0, 0], [5.0, 0, 0, 0, 0, 0]])
    np.testing.assert_allclose(signed_von_mises(uniaxial), [-5.0, 5.0])


def test_strain_inverts_the_law_of_elasticity():
    sigma, nu = tensors(20), 0.3
    eps = strain(sigma, E, nu)
    lame = E * nu / (1 + nu) / (1 - 2 * nu)
    back = E / (1 + nu) * eps
    back[:, :3] += lame * eps[:, :3].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(back, sigma, rtol=1e-10)


def test_kernel_agrees_with_numpy():
    rng = np.random.default_rng(5)
    q, stress = rng.normal(size=(40, 6)), rng.normal(size=(6, 300, 6)) * 1e6
    stress[:, 7] = 0.0  # a point without stress
    found = envelope(q, stress)
    sigma = np.einsum("ta,anc->tnc", q, stress)
    values = principal(sigma)
    np.testing.assert_allclose(found.value[0], von_mises(sigma).max(axis=0), rtol=1e-10)
    np.testing.assert_allclose(found.value[1], values[..., 0].max(axis=0), rtol=1e-7, atol=1e-3)  # acos
    np.testing.assert_allclose(found.value[2], values[..., 2].min(axis=0), rtol=1e-7, atol=1e-3)
    np.testing.assert_array_equal(found.sample[0], von_mises(sigma).argmax(axis=0))


def test_kernel_writes_the_first_sample_even_when_negative():
    value, sample = np.full((3, 1), np.nan), np.full((3, 1), -1)
    extremes(np.array([[[-3.0, -2.0, -1.0, 0, 0, 0]]]), value, sample)
    np.testing.assert_allclose(value[:, 0], [np.sqrt(3.0), -1.0, -3.0])


def test_blocks_do_not_change_the_numbers(monkeypatch):
    rng = np.random.default_rng(6)
    q, stress = rng.normal(size=(11, 3)), rng.normal(size=(3, 50, 6))
    whole = envelope(q, stress)
    monkeypatch.setattr("flexmbs.post.stress.BLOCK_BYTES", 48 * 11 * 7)
    parts = envelope(q, stress)
    np.testing.assert_allclose(parts.value, whole.value, rtol=1e-13)  # BLAS may sum in another order
    np.testing.assert_array_equal(parts.sample, whole.sample)


def test_hot_spots_keep_their_distance():
    places = np.linspace(0, 1, 11)[:, None] * [1.0, 0, 0]
    values = np.array([0, 1, 5, 6, 5, 1, 0, 0, 3, 4, 3.0])
    assert hot_spots(values, places, 3, 0.25).tolist() == [3, 9, 0]


def test_recovery_of_the_bending_rod(result_path):
    record = Record.load(result_path)
    found = recovery.recover(record, "rod", count=4)
    modal = rod_modal()
    expected = np.abs(coordinates(record.time) @ mode_fields(modal.mesh.points)[1][:, :, 0])
    np.testing.assert_allclose(found.envelope.von_mises, expected.max(axis=0), rtol=1e-9)
    hottest = found.row(int(found.spots[0]), yield_stress=355e6)
    k = int(np.flatnonzero(record.time == hottest["time"])[0])
    n = int(modal.mesh.node_indices(hottest["number"])[0])
    assert expected[k, n] == pytest.approx(expected.max(), rel=1e-9)  # by symmetry at several places
    assert hottest["safety"] == pytest.approx(355e6 / expected.max())
    assert 0.1 * LENGTH < hottest["place"][0] < 0.9 * LENGTH
    history = recovery.histories(found, [n])[str(modal.mesh.node_number[n])]
    np.testing.assert_allclose(history["von_mises"], expected[:, n], rtol=1e-9, atol=1e-3)
    np.testing.assert_allclose(history["strain"][:, 0], history["stress"][:, 0] / E)


def test_stress_of_cells_is_reported_by_cell(tmp_path):
    from tests.post.synthetic import write_result

    rod_modal(stress_at="cells").save(tmp_path / "rod.modal.h5")
    found = recovery.recover(Record.load(write_result(tmp_path / "a.h5", n=21)), "rod")
    assert found.at == "cells" and len(found.number) == 24 * 3 * 2
    assert np.all(found.places[:, 0] > 0.0)


def test_command_writes_table_and_hdf5(result_path, tmp_path, capsys):
    out = tmp_path / "s.h5"
    line = ["stress", str(result_path), "rod", "--node", "5", "--yield", "355 MPa", "-o", str(out), "--quiet"]
    assert main(line) == 0
    text = capsys.readouterr().out
    assert "hot spots" in text and "smallest safety against 355 MPa" in text
    with hdf5.open_checked(out, format="flexmbs-stress", max_version=1) as file:
        assert file["envelope/von_mises"].shape == (25 * 4 * 3,)
        assert "5" in file["history"] and file["history/5/principal"].shape == (201, 3)
        np.testing.assert_allclose(
            file["envelope/safety"][:] * file["envelope/von_mises"][:], 355e6, rtol=1e-9
        )
    assert main([*line[:-3], "-o", str(tmp_path / "s.csv"), "--quiet"]) == 0
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 301


@pytest.mark.needs("rainflow")
def test_command_counts_cycles(result_path, capsys):
    assert main(["stress", str(result_path), "rod", "--rainflow", "--json", "--quiet"]) == 0
    done = json.loads(capsys.readouterr().out)
    counts = next(iter(done["rainflow"].values()))
    assert sum(count for _, count in counts) >= 2


def test_messages_name_the_choices(result_path, tmp_path, capsys):
    assert main(["stress", str(result_path), "crank", "--quiet"]) == 3
    assert "flexible bodies: rod" in capsys.readouterr().err
    assert main(["stress", str(result_path), "rod", "--node", "99999", "--quiet"]) == 3
    assert "run from 1 to 300" in capsys.readouterr().err
    assert main(["stress", str(result_path), "rod", "--yield", "3 mm", "--quiet"]) == 2
    assert main(["stress", str(result_path), "rod", "-o", str(tmp_path / "a.txt"), "--quiet"]) == 2
    with pytest.raises(InputError, match="is no h5 file that was written here before"):
        write_recovery(result_path, recovery.recover(Record.load(result_path), "rod"), [])


@pytest.mark.slow
def test_a_large_body_is_recovered_in_pieces():
    """100 000 points, 1000 samples, 30 modes: the histories never stand in memory as a whole (4.8 GB).

    How long the command takes is measured by `python -m tests.benchmarks.recovery`.
    """
    rng = np.random.default_rng(1)
    stress = rng.normal(size=(30, 100_000, 6))
    q = rng.normal(size=(1000, 30))
    envelope(q[:2], stress[:, :10])  # compile
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = envelope(q, stress)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB, above the data
    assert np.isfinite(found.value).all()
