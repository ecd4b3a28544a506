"""TOML with places: values are those of tomllib, places are those of the text, bad input is named."""

import random
import tomllib

import pytest

from flexmbs.errors import InputError
from flexmbs.toml_file import HDF5_SIGNATURE, MAX_DEPTH, parse_toml, parse_value, read_toml

TEXT = '''a = 1
[x."y z"]
q.r = { s = [1, 2, {t = "v"}], u="k" }
m = """a
b"""
n = 3
[[arr]]
k = 1
[[arr]]
k = 2
[arr.sub]
z = [ # comment with ] and "
  1,
  'two' ] # c
'''


def test_values_are_those_of_tomllib():
    assert parse_toml(TEXT).data == tomllib.loads(TEXT)


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        (("a",), (1, 1), (1, 5)),
        (("x", "y z", "q", "r", "s", 1), (3, 17), (3, 17)),
        (("x", "y z", "q", "r", "s", 2, "t"), (3, 21), (3, 25)),
        (("x", "y z", "q", "r", "u"), (3, 32), (3, 34)),
        (("x", "y z", "n"), (6, 1), (6, 5)),
        (("arr", 1, "k"), (10, 1), (10, 5)),
        (("arr", 1, "sub", "z", 1), (14, 3), (14, 3)),
    ],
)
def test_places_of_keys_and_values(path, key, value):
    place = parse_toml(TEXT).places[path]
    assert (place.key, place.value) == (key, value)


def test_every_value_has_a_place():
    file = parse_toml(TEXT)

    def walk(data, path):
        items = data.items() if isinstance(data, dict) else enumerate(data)
        for step, item in items:
            assert (*path, step) in file.places
            if isinstance(item, dict | list):
                walk(item, (*path, step))

    walk(file.data, ())


def test_place_of_something_missing_is_that_around_it():
    file = parse_toml(TEXT, name="f.toml")
    assert file.where(("arr", 1, "missing")) == "f.toml:9:1"
    assert file.where(("nothing",)) == "f.toml:1:1"
    assert file.where(("x", "y z", "q", "r", "u"), offset=1) == "f.toml:3:35"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a = 1\nb = \n", "f:2:5"),
        ("a = 1\na = 2\n", "f:2:6"),
        ('a = "x', "f:1:7"),
        ("[a\n", "f:1:3"),
        ("a = {b = 1,\n c = 2}", "f:1:12"),
        ("a = 1979-13-01\n", "f:1:"),
        ("x y = 3", "f:1:3"),
    ],
)
def test_syntax_errors_say_where(text, where):
    with pytest.raises(InputError) as caught:
        parse_toml(text, name="f")
    assert caught.value.diagnostics[0].where.startswith(where)
    assert "Traceback" not in str(caught.value)


def test_limits():
    deep = "a = " + "[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2)
    for text in (deep, "a = " + "[" * 100_000, ".".join("a" * 200) + " = 1", "a = " + "9" * 5000):
        with pytest.raises(InputError):
            parse_toml(text)
    with pytest.raises(InputError, match="limit"):
        parse_toml("a = 1" * 10, max_bytes=20)


@pytest.mark.parametrize(
    "text",
    [
        ".".join("q" * 20_000) + " = 1",
        "a = [" + "0," * 4_000_000 + "]",
        "\n".join(f"k{i} = 1" for i in range(800_000)),
        "\n".join(f"[a.'b{i}']" for i in range(600_000)),
        "a = " + "{ b = " * 1_000_000,
        "'\n" * 4_000_000,
        "#\n" * 4_000_000,
        'a = """' + '\\"' * 4_000_000 + '"""',
        'a = ["""x"""",' + "[" * 1_000_000,
        "a." * 20 + "b = [" + "{ c.d.e.f.g.h = [" * 12,
    ],
    ids=["dots", "list", "keys", "tables", "braces", "quotes", "comments", "text", "behind a text", "mixed"],
)
def test_limits_hold_before_the_parser_begins(text, monkeypatch):
    def parser(text):
        raise AssertionError("parsed")

    monkeypatch.setattr(tomllib, "loads", parser)
    with pytest.raises(InputError, match=r"<text>:\d+  error  (nested deeper|more than|a text of more)"):
        parse_toml(text)


def test_punctuation_in_texts_and_comments_counts_for_nothing():
    text = "a = '''" + "[" * 400 + "''' # " + "{" * 400 + '\nb = "' + "." * 400 + '\\"[["\nc = 1.5\n'
    assert parse_toml(text).data["c"] == 1.5


def test_unreadable_files(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_toml(tmp_path / "missing.toml")
    with pytest.raises(InputError, match="folder"):
        read_toml(tmp_path)
    bad = tmp_path / "bad.toml"
    bad.write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(InputError, match=r"bad.toml:2:6.*UTF-8"):
        read_toml(bad)
    bad.write_bytes(HDF5_SIGNATURE + b"rest of a result")
    with pytest.raises(InputError, match="is an HDF5 file, a result or modal data"):
        read_toml(bad)
    with pytest.raises(InputError):
        read_toml("name with \0 zero")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2),
        ("2.5", 2.5),
        ("true", True),
        ("[1, 2]", [1, 2]),
        ("2000 rpm", "2000 rpm"),
        ("1\nb = 2", "1\nb = 2"),
    ],
)
def test_values_of_the_command_line(text, value):
    assert parse_value(text) == value


def test_damaged_texts_give_the_values_of_tomllib_or_an_error():
    rng = random.Random(7)
    alphabet = "[]{}\"'=,.#\n \\ax1-_é\x00"
    for _ in range(1500):
        text = list(TEXT)
        for _ in range(rng.randrange(1, 5)):
            k = rng.randrange(len(text))
            text[k : k + rng.randrange(3)] = rng.choice(alphabet) * rng.randrange(3)
        damaged = "".join(text)
        try:
            expected = tomllib.loads(damaged)
        except (tomllib.TOMLDecodeError, RecursionError):
            with pytest.raises(InputError):
                parse_toml(damaged)
            continue
        assert parse_toml(damaged).data == expected
