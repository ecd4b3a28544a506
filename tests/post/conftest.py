import pytest

from tests.post.synthetic import write_result


@pytest.fixture(scope="session")
def result_path(tmp_path_factory):
    """A result made by formulas, with its modal data beside it."""
    return write_result(tmp_path_factory.mktemp("post") / "slider.h5")
