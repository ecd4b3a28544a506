"""Expressions: the allow-list, the three evaluations against each other, switches, tables."""

import math
import random

import numpy as np
import pytest

from flexmbs.channels import ending, find, read_name, split_channel
from flexmbs.expressions import (
    FUNCTIONS,
    ExpressionError,
    constant,
    parse,
    spline_through,
    table_loader,
)
from flexmbs.expressions.machine import evaluate
from flexmbs.expressions.switching import switching_functions
from flexmbs.expressions.table import STACK, compile_table

NAMES = ["t", "a", "b"]
X = np.array([0.7, 1.1, 1.7])
X_DOT = np.array([1.0, 0.3, -0.4])
X_DDOT = np.array([0.0, 0.5, 0.9])
SMOOTH = [
    "2*sin(3*t)", "cos(a)*b", "tan(0.5*a)", "asin(0.3*a)", "acos(0.3*b)", "atan(a*b)", "atan2(a, b)",
    "sinh(a)", "cosh(b)", "tanh(t)", "exp(-a*b)", "log(a)", "sqrt(a + b)", "a**3", "a**b", "2**a", "(-a)**3",
    "a/b", "-a + +b", "step(a, 0, 1, 2, 5)", "step(a, 2, 1, 3, 5)", "where(a < b, a*a, b)", "min(a, b, t)",
    "max(a, b)", "abs(-a)", "mod(a, 0.3)", "floor(a) + sign(b)*b", "where(not (a > b) and t < 1, a**2, 0)",
]  # fmt: skip


def kernel_value(text, x=X, x_dot=X_DOT, x_ddot=X_DDOT):
    table = compile_table([constant(1.0), parse(text)], {name: k for k, name in enumerate(NAMES)})
    out = np.full(3, np.nan)
    evaluate(table, 1, x, x_dot, x_ddot, np.full((STACK, 3), np.nan), out)
    return out


def along_the_path(text, s):
    values = X + s * X_DOT + 0.5 * s * s * X_DDOT
    return float(parse(text).evaluate(dict(zip(NAMES, values, strict=True))))


@pytest.mark.parametrize("text", SMOOTH)
def test_kernel_gives_value_and_both_time_derivatives(text):
    h = 1e-4
    f0, f1, f2 = (along_the_path(text, s) for s in (-h, 0.0, h))
    out = kernel_value(text)
    assert out[0] == pytest.approx(f1, rel=1e-14)  # rounding
    assert out[1] == pytest.approx((f2 - f0) / (2 * h), rel=1e-5, abs=1e-6)  # difference quotient
    assert out[2] == pytest.approx((f2 - 2 * f1 + f0) / h**2, rel=1e-5, abs=1e-6)


def test_functions_and_python_agree():
    for name in sorted(set(FUNCTIONS) & set(dir(math)) - {"floor"}):
        args = (0.3, 0.7)[: FUNCTIONS[name][0]]
        text = f"{name}({', '.join(map(str, args))})"
        assert parse(text).number() == pytest.approx(getattr(math, name)(*args))
    assert parse("pi").number() == math.pi
    assert parse("mod(-1, 3)").number() == 2.0
    assert parse("step(1, 0, 2, 2, 4)").number() == 3.0
    assert parse("1 < 2 < 3").number() == 1.0


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 0, "empty"),
        ("=", 0, "empty"),
        ("a +", 0, "invalid syntax"),
        ("=2*sinn(t)", 3, 'did you mean "sin"'),
        ("sin(1, 2)", 0, "takes 1 argument"),
        ("sin", 0, "is a function"),
        ("a ^ 2", 0, r"powers are written \*\*"),
        ("lambda: 1", 0, "lambda is not allowed"),
        ("[1, 2]", 0, "a list is not allowed"),
        ("1 if t else 2", 0, "where"),
        ("'abc'", 0, "is no number"),
        ("True + 1", 0, "is no number"),
        ("a[0.5]", 0, "whole number"),
        ("a[0].b", 0, "may only follow a name"),
        ("(a+b).c", 0, "may only follow a name"),
        ("__import__('os')", 0, "unknown function"),
        ("a.b(1)", 0, "unknown function"),
        ("sin(x=1)", 0, "takes"),
        ("1 in a", 0, "comparisons"),
        ("a @ b", 0, "operator"),
        ("1e999", 0, "too large"),
        ("x := 2", 2, "invalid syntax"),
        ("f'{a}'", 0, "string"),
        ("a.b[1:2]", 4, "range"),
        ("1; 2", 1, "invalid syntax"),
        ("table('x.csv', 1)", 0, "cannot be used here"),
        ("1" + "+1" * 1990, 0, "more than"),
        ("(" * 60 + "1" + ")" * 60, 0, "nested"),
        ("-" * 3000 + "1", 0, "nest|expression"),
        ("x" * 5000, 0, "longer than"),
    ],
)
def test_what_is_not_allowed_is_named(text, column, words):
    with pytest.raises(ExpressionError, match=words) as caught:
        parse(text)
    assert caught.value.column == column


def test_names_indices_and_parameters():
    expression = parse("=k*rod.q[2] + main.position - sensors.mid.y[-1]*rod.tip.velocity.x")
    assert set(expression.names) == {
        "k",
        "rod.q[2]",
        "main.position",
        "sensors.mid.y[-1]",
        "rod.tip.velocity.x",
    }
    assert "k" not in expression.substitute({"k": 2.0}).names
    assert parse("2*k + 1").substitute({"k": 3.0}).is_constant
    with pytest.raises(ExpressionError, match="unknown name"):
        parse("2*k").number()
    with pytest.raises(ExpressionError, match="no finite value"):
        parse("1/0").number()


def test_histories_have_time_last():
    y = np.array([[1.0, -5.0, 2.0], [3.0, 4.0, -1.0]])
    assert parse("max(abs(y))").evaluate({"y": y[0]}) == 5.0
    np.testing.assert_array_equal(parse("max(y)").evaluate({"y": y}), [2.0, 4.0])
    np.testing.assert_array_equal(parse("min(y, 2)").evaluate({"y": y[0]}), [1.0, -5.0, 2.0])
    with pytest.raises(ExpressionError, match="over time"):
        compile_table([parse("max(t)")], {"t": 0})


def test_unknown_slot_and_depth_are_errors():
    with pytest.raises(ExpressionError, match="unknown name"):
        compile_table([parse("t + z")], {"t": 0})
    text = "t"
    for _ in range(38):
        text = f"(1+t*{text})"
    with pytest.raises(ExpressionError, match="nested"):
        compile_table([parse(text)], {"t": 0})


@pytest.mark.parametrize("text", ["t**0", "t**1", "t**2", "sqrt(t)", "abs(t)", "t**3", "atan2(t, 1)"])
def test_derivatives_at_zero_are_numbers(text):
    out = kernel_value(text, np.zeros(3), np.zeros(3), np.zeros(3))
    assert np.isfinite(out).all()


def test_outside_the_domain_is_nan():
    assert math.isnan(kernel_value("log(-a)")[0])
    assert math.isnan(kernel_value("sqrt(-a)")[0])
    assert math.isnan(kernel_value("max(log(-a), 1)")[0])


@pytest.mark.parametrize(
    ("text", "switches"),
    [
        ("sin(a)*t", []),
        ("where(a < 2, 1, 0)", [-0.9]),
        ("abs(a - t)", [0.4]),
        ("max(a, b, 0)", [-0.6, 1.1, 1.7]),
        ("floor(a)", [math.sin(1.1 * math.pi)]),
        ("mod(a, 2)", [math.sin(0.55 * math.pi)]),
        ("where(t, a, b)", [0.7]),
        ("abs(3)", []),
    ],
)
def test_switching_functions(text, switches):
    values = dict(zip(NAMES, X, strict=True))
    found = [float(item.evaluate(values)) for item in switching_functions(parse(text))]
    assert found == pytest.approx(switches)


def test_table_is_a_c2_spline(tmp_path):
    x = np.linspace(0.0, 3.0, 7)
    rows = "\n".join(f"{a}, {a**3 - a}" for a in x)
    (tmp_path / "cubic.csv").write_text("x, y\n" + rows)
    expression = parse("2*table('cubic.csv', t)", load_table=table_loader(tmp_path))
    t = np.linspace(0.0, 3.0, 31)
    np.testing.assert_allclose(expression.evaluate({"t": t}), 2 * (t**3 - t), atol=1e-12)  # exact for cubics
    assert np.isnan(expression.evaluate({"t": 3.1}))
    table = compile_table([expression, expression], {"t": 0})
    out = np.zeros(3)
    for value in (0.0, 0.5, 1.3, 3.0, 3.1):
        evaluate(table, 1, np.array([value]), np.ones(1), np.zeros(1), np.zeros((STACK, 3)), out)
        exact = [2 * (value**3 - value), 2 * (3 * value**2 - 1), 12 * value]
        np.testing.assert_allclose(out, exact if value <= 3.0 else [np.nan] * 3, atol=1e-11)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("1,2\n", "fewer than two"),
        ("1,2\n1,3\n", "must ascend"),
        ("1,2\n2,nan\n", "not finite"),
        ("1,2\n2,x\n", "line 2"),
        ("a,b\nc,d\n1,2\n", "line 2"),
    ],
)
def test_bad_tables_are_named(tmp_path, content, words):
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(ExpressionError, match=words):
        parse("table('t.csv', t)", load_table=table_loader(tmp_path))


@pytest.mark.parametrize("file", ["../x.csv", "/etc/passwd", "missing.csv", "a\0b", "x" * 5000])
def test_tables_stay_in_their_folder(tmp_path, file):
    (tmp_path.parent / "x.csv").write_text("1,2\n2,3\n")
    with pytest.raises(ExpressionError):
        table_loader(tmp_path)(file)


def test_spline_of_two_points_is_a_line():
    assert spline_through(np.array([0.0, 2.0]), np.array([1.0, 5.0]))(0.5) == pytest.approx(2.0)


def test_complete_channel_names():
    assert split_channel("frames.rod.tip.velocity[2]")[:5] == ("frames", "rod", "tip", "velocity", 2)
    assert split_channel("joints.main.position[0]").quantity == "position"
    assert split_channel("t").kind == "t"
    for wrong in ("main.position", "joints.main", "bodies", "q[0]", "joints.a.b.c", "joints.a.b[-1]"):
        with pytest.raises(ExpressionError):
            split_channel(wrong)


def test_names_of_channels_are_read_shortened_and_found():
    names = ["bodies/rod/q", "joints/rod/position", "bodies/rod/position", "states/rod", "energy/work"]
    parts = {"joints/rod/position": ["angle"], "bodies/rod/position": ["x", "y"]}.get
    assert read_name("joints/rod.position[-1][ 2 ]") == (("joints", "rod", "position"), (-1, 2))
    assert ending(names, ("rod", "position")) == ["joints/rod/position", "bodies/rod/position"]
    assert ending(names, ("bodies", "rod", "position")) == ["bodies/rod/position"]
    assert ending(names, ("od", "q")) == ending(names, ()) == []
    assert ending(["rod", "bodies/rod"], ("rod",)) == ["rod"]
    assert find(names, ("rod", "position", "y"), lambda name: parts(name, [])) == [("bodies/rod/position", 1)]
    assert find(names, ("work",), lambda name: []) == [("energy/work", None)]
    assert find(names, ("work", "y"), lambda name: parts(name, [])) == []


def test_random_texts_end_in_a_value_or_an_expression_error():
    rng = random.Random(11)
    pieces = [
        "a", "b.c", "1", "2.5", "+", "-", "*", "**", "/", "(", ")", "[", "]", ",", "sin(", "where(", "max(",
        "<", "==", " not ", " and ", "'x'", "lambda ", ".", ":", "é", "\n", "\\", "0x1", "1_0", "1j", "#",
    ]  # fmt: skip
    for _ in range(4000):
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(1, 12)))
        try:
            expression = parse(text)
            expression.evaluate({label: 0.5 for label in expression.names})
            compile_table([expression], {label: 0 for label in expression.names})
        except ExpressionError as error:
            assert error.column >= 0
