"""A plain time loop, independent of the program's: events, impacts, contacts, work of a few coordinates.

Positions x, a constant mass matrix, constraints g(t, x, side) = 0 of which one side holds at a time. Steps of
Runge and Kutta, of one size, shortened by halves to what happens; nothing is shared with the program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

TINY = 1e-30  # of complex steps
NEAR = 1e-4  # of differences between slopes


@dataclass(eq=False)
class Row:
    """A constraint g(t, x, side) = 0. `kink(t, x)`: its sign is the side. `one_sided`: it pushes g up."""

    g: Callable[[float, np.ndarray, float], float]
    kink: Callable[[float, np.ndarray], float] | None = None
    one_sided: bool = False
    side: float = 1.0
    is_open: bool = False

    def slopes(self, t, x):
        """Gradient over x, and rate over t, by complex steps."""
        n = len(x)
        found = [self.g(t, x + 1j * TINY * np.eye(n)[k], self.side).imag / TINY for k in range(n)]
        return np.array(found), np.imag(self.g(t + 1j * TINY, x + 0j, self.side)) / TINY

    def rate(self, t, x, v):
        G, g_t = self.slopes(t, x)
        return G @ v + g_t

    def gamma(self, t, x, v):
        """Second rate without accelerations."""
        ahead, back = (self.rate(t + e, x + e * v, v) for e in (NEAR, -NEAR))
        return (ahead - back) / (2.0 * NEAR)


@dataclass
class PlainLoop:
    """Motion of M x_ddot = f(t, x, v) + G^T lam; `events`: time and kind of what has happened."""

    M: np.ndarray
    force: Callable[[float, np.ndarray, np.ndarray], np.ndarray]
    rows: list[Row]
    x: np.ndarray
    v: np.ndarray
    t: float = 0.0
    work: float = 0.0  # of what moves the constraints
    dissipated: float = 0.0
    events: list[tuple[float, str]] = field(default_factory=list)

    def __post_init__(self):
        self.x, self.v = np.array(self.x, dtype=float), np.array(self.v, dtype=float)
        for row in self.rows:
            if row.kink is not None:
                row.side = np.sign(row.kink(self.t, self.x)) or 1.0

    @property
    def closed(self):
        return [row for row in self.rows if not row.is_open]

    def solve(self, t, x, v):
        """Accelerations, and multipliers of the closed rows."""
        n, rows = len(x), self.closed
        G = np.array([row.slopes(t, x)[0] for row in rows]).reshape(-1, n)
        whole = np.block([[self.M, -G.T], [G, np.zeros((len(rows), len(rows)))]])
        right = np.concatenate([self.force(t, x, v), [-row.gamma(t, x, v) for row in rows]])
        found = np.linalg.solve(whole, right)
        return found[:n], found[n:]

    def rates(self, t, y):
        n = len(self.x)
        x, v = y[:n], y[n : 2 * n]
        a, lam = self.solve(t, x, v)
        power = -sum(force * row.slopes(t, x)[1] for force, row in zip(lam, self.closed, strict=True))
        return np.concatenate([v, a, [power]])

    def stepped(self, h):
        """State [x, v, work] after a step of size h, back on the constraints."""
        t, y = self.t, np.concatenate([self.x, self.v, [self.work]])
        k1 = self.rates(t, y)
        k2 = self.rates(t + h / 2, y + h / 2 * k1)
        k3 = self.rates(t + h / 2, y + h / 2 * k2)
        k4 = self.rates(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        n = len(self.x)
        for _ in range(3):
            y[:n] += self.correction(t + h, y[:n], [row.g(t + h, y[:n], row.side) for row in self.closed])
        y[n : 2 * n] += self.correction(
            t + h, y[:n], [row.rate(t + h, y[:n], y[n : 2 * n]) for row in self.closed]
        )
        return y

    def correction(self, t, x, gap):
        """Least change in the metric of M that closes gaps."""
        if not self.closed:
            return np.zeros(len(x))
        G = np.array([row.slopes(t, x)[0] for row in self.closed])
        back = np.linalg.solve(self.M, G.T)
        return -back @ np.linalg.solve(G @ back, np.array(gap))

    def happened(self, t, y):
        """What a state asks for that the present rows do not have: (row, kind), or None."""
        n = len(self.x)
        x, v = y[:n], y[n : 2 * n]
        for row in self.rows:
            if row.kink is not None and row.side * row.kink(t, x) < 0.0:
                return row, "kink"
            if row.is_open and row.g(t, x, row.side) < 0.0:
                return row, "landed"
        lam = self.solve(t, x, v)[1]
        for force, row in zip(lam, self.closed, strict=True):
            if row.one_sided and force < 0.0:
                return row, "left"
        return None

    def take(self, h, y):
        n = len(self.x)
        self.t, self.x, self.v, self.work = self.t + h, y[:n], y[n : 2 * n], float(y[-1])

    def change(self, row, kind):
        """Pass an event; impacts keep the momentum, and lose d M d / 2 of the jump d of the speeds."""
        self.events.append((self.t, kind))
        if kind == "left":
            row.is_open = True
            return
        row.is_open = False
        row.side = -row.side if kind == "kink" else row.side
        gaps = [each.rate(self.t, self.x, self.v) for each in self.closed]
        before, jump = self.v, self.correction(self.t, self.x, gaps)
        self.v = before + jump
        loss = 0.5 * jump @ self.M @ jump
        gain = 0.5 * self.v @ self.M @ self.v - 0.5 * before @ self.M @ before
        self.dissipated += loss
        self.work += gain + loss
        if kind == "landed" and self.solve(self.t, self.x, self.v)[1][self.closed.index(row)] < 0.0:
            self.events[-1], row.is_open = (self.t, "touched"), True

    def run(self, t_end, h):
        """Lead the motion to a time, by steps of size h."""
        while self.t < t_end - 1e-14:
            step = min(h, t_end - self.t)
            y = self.stepped(step)
            if self.happened(self.t + step, y) is None:
                self.take(step, y)
                continue
            low, high = 0.0, step
            while high - low > 1e-14 * max(self.t, 1.0):
                middle = 0.5 * (low + high)
                y = self.stepped(middle)
                low, high = (low, middle) if self.happened(self.t + middle, y) else (middle, high)
            y = self.stepped(high)
            row, kind = self.happened(self.t + high, y)
            self.take(high, y)
            self.change(row, kind)
        return self
