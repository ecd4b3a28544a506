"""Pictures from Python."""

import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.modaldata import ModalData
from flexmbs.post import show as module
from flexmbs.resources import resource
from flexmbs.results import Result


@pytest.fixture(autouse=True)
def no_browser(monkeypatch):
    monkeypatch.setattr(module.webbrowser, "open", lambda url: True)


def test_result_shows_itself_in_notebooks(result_path, tmp_path):
    picture = Result.load(result_path).show()
    assert picture._repr_html_().startswith("<iframe") and "&lt;!DOCTYPE html&gt;" in picture._repr_html_()
    assert picture.save(tmp_path / "a.html").read_text().startswith("<!DOCTYPE html>")


def test_a_usual_result_is_shown_in_one_megabyte(result_path):
    for name in ("slider-crank", "double-wishbone", "four-bars"):
        case = Case.load(resource("cases", f"{name}.toml"))
        result = fm.run(case.with_tables(lambda data: data.pop("expected", None)), keep=False)
        assert len(result.show()._repr_html_()) < 1_000_000, name
    assert len(Result.load(result_path).show()._repr_html_()) < 1_000_000


def test_a_case_shows_itself_before_it_moves():
    case = Case.load(resource("cases", "double-wishbone.toml"))
    page = case.show().page
    assert "carrier" in page and "<title>" in page
    assert case._repr_html_().startswith("<pre>case double-wishbone") and "3 bodies" in case._repr_html_()


def test_modal_data_show_their_modes(result_path):
    picture = ModalData.load(result_path.parent / "rod.modal.h5").show()
    assert "bending y" in picture.page and "<title>rod</title>" in picture.page


def test_result_is_a_table_in_notebooks(result_path):
    text = Result.load(result_path)._repr_html_()
    assert text.startswith("<table>") and "rod (flexible)" in text and "complete, t = 0 to 0.1 s" in text
    assert len(text) < 4000


def test_modal_data_are_a_table_in_notebooks(result_path):
    text = ModalData.load(result_path.parent / "rod.modal.h5")._repr_html_()
    assert text.startswith("<table>") and "frequencies [Hz]" in text and len(text) < 4000


def test_names_are_escaped(tmp_path):
    from tests.post.synthetic import case, write_result

    bad = case()
    bad["title"] = "<script>"
    assert "<script>" not in Result.load(write_result(tmp_path / "a.h5", n=3, case_data=bad))._repr_html_()
