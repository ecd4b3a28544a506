"""Pictures from Python."""

import pytest

from flexmbs.modaldata import ModalData
from flexmbs.post import show as module
from flexmbs.results import Result


@pytest.fixture(autouse=True)
def no_browser(monkeypatch):
    monkeypatch.setattr(module.webbrowser, "open", lambda url: True)


def test_result_shows_itself_in_notebooks(result_path, tmp_path):
    picture = Result.load(result_path).show()
    assert picture._repr_html_().startswith("<iframe") and "&lt;!DOCTYPE html&gt;" in picture._repr_html_()
    assert picture.save(tmp_path / "a.html").read_text().startswith("<!DOCTYPE html>")


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
