"""Poses as no device should give them: kinds of adversity, singly and mixed, each from a seed of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from condyle.model.options import FitOptions
from condyle.model.recording import Bodies, Convention, Recording, to_take
from condyle.model.take import Take
from condyle.simulate import Disturbances, chain, human, linkage, simulate

Rng = np.random.Generator
MOST_KINDS = 4  # of adversity in one take
BASES = 6  # sound takes from which all are made
FRAMES, BODIES = (24, 160), (3, 6)  # fewest and most


@dataclass
class Poses:
    """What is spoilt: p (n, m, 3), R (n, m, 3, 3), time (n,) and segment (n,) or None; `take` makes a take of them."""

    names: list[str]
    p: np.ndarray
    R: np.ndarray
    time: np.ndarray | None
    segment: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.p.shape[0], self.p.shape[1]

    def rows(self, rows: Any) -> None:
        self.p, self.R = self.p[rows], self.R[rows]
        self.time = None if self.time is None else self.time[rows]
        self.segment = None if self.segment is None else self.segment[rows]

    def take(self) -> Take:
        """By the road of a file, so that its clock is put in order and its matrices are looked at."""
        n, m = self.shape
        bodies = Bodies(tuple(self.names), self.p, self.R.reshape(n, m, 9))
        convention = Convention("matrix", unit="m")
        return to_take(Recording("spoilt", "spoilt", bodies, None, self.time, None, self.segment, convention))


@cache
def _base(number: int) -> Take:
    figure = (chain, linkage, human)[number % 3]()
    noise = Disturbances(position_noise=0.003, orientation_noise=0.01) if number < BASES - 1 else Disturbances()
    motion = "walk" if number % 3 == 2 else "exercise"
    return simulate(figure, motion, seconds=5.0, rate=60.0, seed=number, disturbances=noise).take


def sound(rng: Rng) -> Poses:
    """A part of a sound take: neighbours of a figure, some frames."""
    take = _base(int(rng.integers(BASES)))
    frames, bodies = int(rng.integers(*FRAMES, endpoint=True)), min(int(rng.integers(*BODIES)), take.bodies)
    start = int(rng.integers(take.frames - frames + 1))
    rows, columns = slice(start, start + frames), slice(0, bodies)
    names = list(take.names[:bodies])
    p, R = take.p_world_body[rows, columns].copy(), take.R_world_body[rows, columns].copy()
    return Poses(names, p, R, take.time[rows].copy())


KINDS: dict[str, Callable[[Poses, Rng], None]] = {}


def kind(change: Callable[[Poses, Rng], None]) -> Callable[[Poses, Rng], None]:
    KINDS[change.__name__] = change
    return change


def _body(poses: Poses, rng: Rng) -> int:
    return int(rng.integers(poses.shape[1]))


def _some(poses: Poses, rng: Rng) -> np.ndarray:
    """(n, m) poses chosen at random, few or many."""
    return np.asarray(rng.random(poses.shape) < rng.choice([0.02, 0.2, 0.6, 0.95]))


def _stretch(poses: Poses, rng: Rng) -> slice:
    first = int(rng.integers(len(poses.p)))
    return slice(first, first + int(rng.integers(1, len(poses.p) + 1)))


@kind
def few_frames(poses: Poses, rng: Rng) -> None:
    poses.rows(slice(0, int(rng.integers(1, 4))))


@kind
def scaled(poses: Poses, rng: Rng) -> None:
    poses.p *= rng.choice([1e-12, 1e-6, 1e3, 1e9])


@kind
def one_scaled(poses: Poses, rng: Rng) -> None:
    poses.p[:, _body(poses, rng)] *= rng.choice([0.0, 1e-9, 1e3, 1e9])


@kind
def far_away(poses: Poses, rng: Rng) -> None:
    poses.p += rng.choice([1e3, 1e6, 1e11])


@kind
def missing_poses(poses: Poses, rng: Rng) -> None:
    poses.p[_some(poses, rng)] = np.nan


@kind
def infinite_numbers(poses: Poses, rng: Rng) -> None:
    poses.p[_some(poses, rng)] = rng.choice([np.inf, -np.inf, 1e300, 1.7e308])
    poses.R[_some(poses, rng)] *= rng.choice([1.0, np.inf, 1e300])


@kind
def body_missing(poses: Poses, rng: Rng) -> None:
    body = _body(poses, rng)
    poses.p[rng.integers(0, 4) :, body] = np.nan


@kind
def never_together(poses: Poses, rng: Rng) -> None:
    body, half = _body(poses, rng), len(poses.p) // 2
    poses.p[:half, body] = np.nan
    poses.p[half:, (body + 1) % poses.shape[1]] = np.nan


@kind
def stretch_missing(poses: Poses, rng: Rng) -> None:
    poses.p[_stretch(poses, rng)] = np.nan


@kind
def twins(poses: Poses, rng: Rng) -> None:
    one = _body(poses, rng)
    other = (one + 1) % poses.shape[1]
    poses.p[:, other], poses.R[:, other] = poses.p[:, one], poses.R[:, one]


@kind
def near_twins(poses: Poses, rng: Rng) -> None:
    twins(poses, rng)
    poses.p += rng.choice([1e-15, 1e-12, 1e-6]) * rng.standard_normal(poses.p.shape)


@kind
def left_handed(poses: Poses, rng: Rng) -> None:
    which = slice(None) if rng.random() < 0.5 else _body(poses, rng)
    poses.R[:, which, :, 0] *= -1


@kind
def transposed(poses: Poses, rng: Rng) -> None:
    poses.R = np.swapaxes(poses.R, -1, -2).copy()


@kind
def sheared(poses: Poses, rng: Rng) -> None:
    poses.R[_some(poses, rng)] += rng.choice([1e-10, 1e-3, 0.04, 1.0]) * rng.standard_normal((3, 3))


@kind
def zeros(poses: Poses, rng: Rng) -> None:
    some = _some(poses, rng)
    poses.p[some] = 0
    poses.R[some] = 0 if rng.random() < 0.5 else np.eye(3)


@kind
def backwards(poses: Poses, rng: Rng) -> None:
    if poses.time is not None:
        poses.time = poses.time[::-1].copy()


@kind
def time_jumbled(poses: Poses, rng: Rng) -> None:
    if poses.time is not None:
        poses.time = rng.permutation(poses.time)


@kind
def time_repeated(poses: Poses, rng: Rng) -> None:
    if poses.time is not None:
        poses.time = np.sort(rng.choice(poses.time, len(poses.time)))


@kind
def time_scaled(poses: Poses, rng: Rng) -> None:
    if poses.time is not None:
        poses.time = poses.time * rng.choice([1e-300, 1e-9, 1e-5, 1e-3, 60.0, 3600.0, 1e6, 1e90])


@kind
def time_late(poses: Poses, rng: Rng) -> None:
    if poses.time is not None:
        poses.time = poses.time + rng.choice([-1e3, 1.686e9, 1.686e12, 1.686e18])


@kind
def time_in_bursts(poses: Poses, rng: Rng) -> None:
    if poses.time is not None:
        packet = int(rng.integers(2, 12))
        k = np.arange(len(poses.time))
        poses.time = poses.time[k - k % packet] + (k % packet) * rng.choice([5e-324, 1e-9, 5e-5])


@kind
def no_time(poses: Poses, rng: Rng) -> None:
    poses.time = None


@kind
def segment_per_row(poses: Poses, rng: Rng) -> None:
    poses.segment = np.arange(len(poses.p))


@kind
def short_segments(poses: Poses, rng: Rng) -> None:
    poses.segment = np.cumsum(rng.random(len(poses.p)) < rng.choice([0.05, 0.5]))


@kind
def spikes(poses: Poses, rng: Rng) -> None:
    some = rng.random(poses.shape) < 0.02
    poses.p[some] += rng.choice([1.0, 1e3, 1e11])


@kind
def all_still(poses: Poses, rng: Rng) -> None:
    poses.p[:], poses.R[:] = poses.p[:1], poses.R[:1]


@kind
def body_still(poses: Poses, rng: Rng) -> None:
    body = _body(poses, rng)
    poses.p[:, body], poses.R[:, body] = poses.p[:1, body], poses.R[:1, body]


@kind
def frozen_stretch(poses: Poses, rng: Rng) -> None:
    rows, body = _stretch(poses, rng), _body(poses, rng)
    poses.p[rows, body], poses.R[rows, body] = poses.p[rows.start, body], poses.R[rows.start, body]


@kind
def no_turns(poses: Poses, rng: Rng) -> None:
    poses.R[:] = np.eye(3)


@kind
def barely_turned(poses: Poses, rng: Rng) -> None:
    """All turn as one, but for a tiny angle: the sums of every pair are nearly singular."""
    from condyle.maths import rotation

    turn = rng.choice([1e-14, 1e-8, 1e-4]) * rng.standard_normal((*poses.shape, 3))
    poses.R = poses.R[:, :1] @ rotation.from_vector(turn)


@kind
def in_a_plane(poses: Poses, rng: Rng) -> None:
    """Everything turns about the vertical and stays on the floor."""
    from condyle.maths import rotation

    angle = np.arctan2(poses.R[..., 1, 0], poses.R[..., 0, 0])
    poses.R = rotation.from_vector(angle[..., None] * np.array([0.0, 0.0, 1.0]))
    poses.p[..., 2] = 0


@kind
def no_places(poses: Poses, rng: Rng) -> None:
    poses.p[:] = rng.choice([0.0, 1.0])


@kind
def rounded(poses: Poses, rng: Rng) -> None:
    poses.p = np.round(poses.p, int(rng.integers(0, 3)))
    poses.R = np.round(poses.R, int(rng.integers(1, 4)))


@kind
def swapped(poses: Poses, rng: Rng) -> None:
    rows, one = _stretch(poses, rng), _body(poses, rng)
    pair = [one, (one + 1) % poses.shape[1]]
    poses.p[rows, pair], poses.R[rows, pair] = poses.p[rows, pair[::-1]], poses.R[rows, pair[::-1]]


@kind
def noise_alone(poses: Poses, rng: Rng) -> None:
    from condyle.maths import rotation

    poses.p = rng.standard_normal(poses.p.shape)
    poses.R = rotation.from_vector(3 * rng.standard_normal((*poses.shape, 3)))


@kind
def repeated_rows(poses: Poses, rng: Rng) -> None:
    time = poses.time
    poses.rows(np.sort(rng.integers(0, len(poses.p), len(poses.p))))
    poses.time = time


@kind
def one_body(poses: Poses, rng: Rng) -> None:
    keep = int(rng.integers(1, 3))
    poses.names, poses.p, poses.R = poses.names[:keep], poses.p[:, :keep], poses.R[:, :keep]


@kind
def odd_names(poses: Poses, rng: Rng) -> None:
    odd = ["CON", "a:b", "../x", "\x1b[2J", "é" * 300, "<b>", "-1", "l_knee r_knee", '"', "world.", "\u202e"]
    poses.names = [str(name) for name in rng.permutation(odd)[: poses.shape[1]]]


def spoil(rng: Rng, names: tuple[str, ...] = ()) -> tuple[tuple[str, ...], Poses]:
    """A sound take with these kinds of adversity one after the other, or with one to MOST_KINDS of them at random."""
    poses = sound(rng)
    if not names:
        count = int(rng.integers(1, MOST_KINDS + 1))
        names = tuple(str(name) for name in rng.choice(list(KINDS), count, replace=False))
    with np.errstate(all="ignore"):
        for name in names:
            KINDS[name](poses, rng)
    return names, poses


def choose_options(rng: Rng, names: tuple[str, ...]) -> FitOptions:
    """Any plan, and of the other options one or two: all that a user may ask for."""
    options = FitOptions(method=str(rng.choice(["default", "default", "least-squares", "drift"])))  # type: ignore[arg-type]
    a, b = (str(name) for name in rng.permutation(names)[:2]) if len(names) > 1 else (names[0], names[0])
    more: list[dict[str, Any]] = [
        {"world": True}, {"intervals": False}, {"prepare": False}, {"root": a}, {"tree_score": "residual"},
        {"fix": ("swaps",)}, {"no_fix": ("latency", "slips")}, {"symmetric": 0.001}, {"scale": 1.02}, {"field": True},
        {"tree": ((a, b),)}, {"loops": ((a, b),)},
    ]  # fmt: skip
    for _ in range(int(rng.integers(0, 3))):
        options = replace(options, **more[int(rng.integers(len(more)))])
    return options
