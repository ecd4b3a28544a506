"""The postfix machine: value and first and second time derivative of an expression, compiled once for all."""

import numpy as np

from flexmbs._jit import kernel
from flexmbs.expressions.table import (
    ABS,
    ACOS,
    ADD,
    AND,
    ASIN,
    ATAN,
    ATAN2,
    CONST,
    COS,
    COSH,
    DIV,
    EQ,
    EXP,
    FLOOR,
    GE,
    GT,
    LE,
    LOG,
    LT,
    MAX,
    MIN,
    MUL,
    NE,
    NEG,
    NOT,
    POW,
    SIGN,
    SIN,
    SINH,
    SLOT,
    SQRT,
    SUB,
    TABLE,
    TAN,
    TANH,
    WHERE,
)  # fmt: skip


@kernel(lean=True, later="void")
def evaluate(table, k, x, x_dot, x_ddot, stack, out):
    """Value and first and second time derivative of expression k. Writes: stack, out (3,).

    A where, comparison, min, max, abs, sign or floor has the derivatives of the branch it is on. Outside a
    table, and outside the domain of a function, the result is NaN.
    """
    top = -1
    for i in range(table.start[k], table.start[k + 1]):
        op, arg = table.code[i, 0], table.code[i, 1]
        if op == SLOT:
            top += 1
            stack[top, 0], stack[top, 1], stack[top, 2] = x[arg], x_dot[arg], x_ddot[arg]
        elif op == CONST:
            top += 1
            stack[top, 0], stack[top, 1], stack[top, 2] = table.const[arg], 0.0, 0.0
        elif op == TABLE:
            f, f1, f2 = spline_derivatives(table, arg, stack[top, 0])
            chain(stack, top, f, f1, f2)
        elif op == WHERE:
            top -= 2
            pick = top + 1 if stack[top, 0] != 0.0 else top + 2
            for c in range(3):
                stack[top, c] = stack[pick, c]
        elif op < ADD:
            f, f1, f2 = unary(op, stack[top, 0])
            chain(stack, top, f, f1, f2)
        else:
            top -= 1
            binary(op, stack, top)
    out[0], out[1], out[2] = stack[0, 0], stack[0, 1], stack[0, 2]


@kernel
def chain(stack, top, f, f1, f2):
    """Chain rule on the row `top`; a constant argument has derivatives zero even where f1 is infinite."""
    u1, u2 = stack[top, 1], stack[top, 2]
    stack[top, 0] = f
    if u1 == 0.0 and u2 == 0.0:
        return
    stack[top, 1] = f1 * u1
    stack[top, 2] = f2 * u1 * u1 + f1 * u2


@kernel
def spline_derivatives(table, s, x):
    """Value, slope and curvature of spline s at x; NaN outside its breakpoints."""
    low, high = table.spline_start[s], table.spline_start[s + 1] - 1
    first, last = table.spline_x[low], table.spline_x[high]
    slack = 1e-9 * (last - first)
    if not (x >= first - slack and x <= last + slack):
        return np.nan, np.nan, np.nan
    high -= 1
    while low < high:
        middle = (low + high + 1) // 2
        if table.spline_x[middle] <= x:
            low = middle
        else:
            high = middle - 1
    d = x - table.spline_x[low]
    f, f1, f2 = 0.0, 0.0, 0.0
    for i in range(6):  # Horner, of the value and its derivatives by d (f2: half of it)
        f2 = f2 * d + f1
        f1 = f1 * d + f
        f = f * d + table.spline_c[i, low]
    return f, f1, 2.0 * f2


@kernel
def unary(op, u):
    """A function of one argument with its first two derivatives."""
    if op == NEG:
        return -u, -1.0, 0.0
    if op == SIN:
        s, c = np.sin(u), np.cos(u)
        return s, c, -s
    if op == COS:
        s, c = np.sin(u), np.cos(u)
        return c, -s, -c
    if op == TAN:
        f = np.tan(u)
        return f, 1.0 + f * f, 2.0 * f * (1.0 + f * f)
    if op == ASIN or op == ACOS:
        w = 1.0 - u * u
        f1 = 1.0 / np.sqrt(w)
        sign = 1.0 if op == ASIN else -1.0
        return (np.arcsin(u) if op == ASIN else np.arccos(u)), sign * f1, sign * u * f1 / w
    if op == ATAN:
        f1 = 1.0 / (1.0 + u * u)
        return np.arctan(u), f1, -2.0 * u * f1 * f1
    if op == SINH:
        return np.sinh(u), np.cosh(u), np.sinh(u)
    if op == COSH:
        return np.cosh(u), np.sinh(u), np.cosh(u)
    if op == TANH:
        f = np.tanh(u)
        return f, 1.0 - f * f, -2.0 * f * (1.0 - f * f)
    if op == EXP:
        f = np.exp(u)
        return f, f, f
    if op == LOG:
        return np.log(u), 1.0 / u, -1.0 / (u * u)
    if op == SQRT:
        f = np.sqrt(u)
        return f, 0.5 / f, -0.25 / (f * u)
    if op == ABS:
        return abs(u), np.sign(u), 0.0
    if op == SIGN:
        return np.sign(u), 0.0, 0.0
    if op == FLOOR:
        return np.floor(u), 0.0, 0.0
    if op == NOT:
        return (1.0 if u == 0.0 else 0.0), 0.0, 0.0
    # smooth: 10 s^3 - 15 s^4 + 6 s^5 between 0 and 1
    s = min(max(u, 0.0), 1.0)
    r = s * (1.0 - s)
    return s * s * s * (10.0 + s * (6.0 * s - 15.0)), 30.0 * r * r, 60.0 * r * (1.0 - 2.0 * s)


@kernel
def binary(op, stack, top):
    """A function of two arguments: rows `top` (a) and `top + 1` (b) of the stack. Writes: stack[top]."""
    a, a1, a2 = stack[top, 0], stack[top, 1], stack[top, 2]
    b, b1, b2 = stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2]
    f, f1, f2 = 0.0, 0.0, 0.0
    if op == ADD:
        f, f1, f2 = a + b, a1 + b1, a2 + b2
    elif op == SUB:
        f, f1, f2 = a - b, a1 - b1, a2 - b2
    elif op == MUL:
        f, f1, f2 = a * b, a1 * b + a * b1, a2 * b + 2.0 * a1 * b1 + a * b2
    elif op == DIV:
        f = a / b
        f1 = (a1 - f * b1) / b
        f2 = (a2 - 2.0 * f1 * b1 - f * b2) / b
    elif op == POW:
        f, f1, f2 = power(a, a1, a2, b, b1, b2)
    elif op == ATAN2:
        r2 = a * a + b * b
        f = np.arctan2(a, b)
        f1 = (b * a1 - a * b1) / r2
        f2 = (b * a2 - a * b2) / r2 - 2.0 * f1 * (a * a1 + b * b1) / r2
    elif op == MIN or op == MAX:
        # a NaN in either argument stays
        first = a != a or (a <= b if op == MIN else a >= b)
        f, f1, f2 = (a, a1, a2) if first else (b, b1, b2)
    else:
        f = compare(op, a, b)
    stack[top, 0], stack[top, 1], stack[top, 2] = f, f1, f2


@kernel
def power(a, a1, a2, b, b1, b2):
    """a**b; a constant exponent is treated apart, so that the base may be zero or negative."""
    f = a**b
    if b1 == 0.0 and b2 == 0.0:
        d1 = 0.0 if b == 0.0 else b * a ** (b - 1.0)
        d2 = 0.0 if b == 0.0 or b == 1.0 else b * (b - 1.0) * a ** (b - 2.0)
        if a1 == 0.0 and a2 == 0.0:
            return f, 0.0, 0.0
        return f, d1 * a1, d2 * a1 * a1 + d1 * a2
    # f = exp(b log a): f_dot = f e_dot, e = b log a
    log_a = np.log(a)
    e1 = b1 * log_a + b * a1 / a
    e2 = b2 * log_a + 2.0 * b1 * a1 / a + b * (a2 / a - a1 * a1 / (a * a))
    return f, f * e1, f * (e2 + e1 * e1)


@kernel
def compare(op, a, b):
    """Comparisons and logic: 1 for true, 0 for false."""
    if op == LT:
        result = a < b
    elif op == LE:
        result = a <= b
    elif op == GT:
        result = a > b
    elif op == GE:
        result = a >= b
    elif op == EQ:
        result = a == b
    elif op == NE:
        result = a != b
    elif op == AND:
        result = a != 0.0 and b != 0.0
    else:
        result = a != 0.0 or b != 0.0
    return 1.0 if result else 0.0
