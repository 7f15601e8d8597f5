"""Two tracking systems, each in a world of its own: told where the joints show it, brought into one where asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import UsageError
from ..estimate.fitting import Estimate
from ..findings import Finding, many, mm
from ..maths.robust import median
from ..model.options import FitOptions
from ..model.stage import Change, Decision, Effect
from ..model.take import WORLD, Take
from ..model.values import dataclass
from ..prepare.cutting import find_named

if TYPE_CHECKING:  # most takes have one world
    from ..estimate.registration import Registration

REGISTER_MAX_RESIDUAL_RATIO = 3.0  # gap of the joint between two systems over the usual one of joints, at most
REGISTER_LEAST_RESIDUAL_M = 0.003  # m, as which a smaller usual one counts
REGISTER_MIN_GAIN = 3.0  # times that the gap must be larger with both in one world as recorded
ROTATION_MAX_95_RAD, TRANSLATION_MAX_95_M = np.radians(5.0), 0.1  # half-widths of intervals: wider is not determined
SCALE_MAX_95, DELAY_MAX_95_S = 0.05, 0.05  # the same of a scale [-] and a delay [s]
SAME_WORLD_MAX_RAD = np.radians(5.0)  # apart up to which two worlds are one, and a sensor is late
SAME_WORLD_MAX_M = 0.2  # the same of their origins; both are chosen, for simulated late sensors
WORLDS_TOLD_MAX_PAIRS = 100  # pairs of bodies of the largest figure and others that are looked at without being asked


@dataclass(frozen=True, eq=False)
class WorldChange:
    """Bodies of a second system brought into the world of the first, as was asked."""

    found: Registration
    own: tuple[str, ...]
    findings: tuple[Finding, ...]
    repair: str = "register"
    effect: Effect = "reading"
    first: int = 0
    size: float | None = None
    hold: tuple[tuple[str, str], ...] = ()
    at_border: bool = False
    suspicion: str = "sensors may be tracked in two worlds"

    @property
    def bodies(self) -> tuple[str, ...]:
        return self.own

    def apply(self, take: Take) -> Take:
        return self.found.apply(take, [take.index(name) for name in self.own])

    def describe(self) -> list[Finding]:
        return list(self.findings)


def register_worlds(estimate: Estimate, options: FitOptions, refused: Sequence[Change] = ()) -> Decision:
    """The stage of two systems: registers what was asked for, and tells what would be worth it."""
    if refused:
        return Decision()
    if not options.register:
        return Decision(_look_for_worlds(estimate))
    take = estimate.take
    moved = estimate.structure.determined or options.register != "auto"
    first, others = _find_systems(estimate, options.register)
    if not others or not moved:
        text = "nothing moved enough to tell the sensors of two systems apart; name them, --register A:B"
        if moved:
            text = "all sensors are joined in one figure: nothing tells two systems apart; name them, --register A:B"
        return Decision([Finding("registration-open", "warning", text)])
    from ..estimate.registration import find_registration

    told, changes = list[Finding](), list[Change]()
    for own in others:
        found = find_registration(take, first, own)
        names = tuple(take.names[k] for k in own)
        against = _speak_against(estimate, found)
        if found is None or against:
            told.append(Finding("registration-open", "warning", f"{_list(names)}: not registered: {against}", names))
        else:
            changes.append(WorldChange(found, names, (_describe(found, names),)))
    return Decision(told, changes=changes)


def check_register(words: str) -> None:
    """Raises where `--register` is not as it should be."""
    words = str(words)
    if words and words != "auto" and (words.count(":") != 1 or not all(part.strip() for part in words.split(":"))):
        raise UsageError(
            f"--register {words}: give auto, or the sensors of both systems as A:B, such as opt_*:mag_1,mag_2",
            code="bad-option",
        )


def _find_systems(estimate: Estimate, words: str) -> tuple[list[int], list[list[int]]]:
    """The bodies of the first system, and of every other."""
    take = estimate.take
    if words == "auto":
        figures = [[k for k in figure if take.names[k] != WORLD] for figure in estimate.structure.figures]
        figures = [figure for figure in figures if figure]
        return (figures[0], figures[1:]) if figures else ([], [])
    sides = [_match(take.names, part) for part in words.split(":")]
    both = [take.names[k] for k in sides[0] if k in sides[1]]
    if both:
        raise UsageError(f"--register names '{both[0]}' on both sides; a sensor is of one system", code="bad-option")
    return sides[0], [sides[1]]


def _match(names: Sequence[str], words: str) -> list[int]:
    found: list[int] = []
    for pattern in (word.strip() for word in words.split(",") if word.strip()):
        own = [names.index(name) for name in find_named(pattern, names)]
        if not own:
            raise UsageError(
                f"--register: no sensor is called '{pattern}'; there are {', '.join(names)}", code="unknown-body"
            )
        found += [k for k in own if k not in found]
    return found


def _speak_against(estimate: Estimate, found: Registration | None) -> str:
    """What speaks against a registration; "" where nothing does."""
    if found is None:
        return "no two of the sensors are seen together in enough frames"
    usual = REGISTER_LEAST_RESIDUAL_M
    if len(estimate.pairs):
        usual = max(usual, float(np.sqrt(3 * median(np.diagonal(estimate.solution.residual_cov)))))
    pair = " - ".join(found.pair)
    if found.residual > REGISTER_MAX_RESIDUAL_RATIO * usual:
        return (
            f"no two of the bodies share a point in any common world; the nearest are {pair}, which come apart by "
            f"{mm(found.residual)} mm"
        )
    if found.before < REGISTER_MIN_GAIN * found.residual:
        return f"{pair} are joined in the world as it was recorded ({mm(found.before)} mm): it is one world"
    open_parts = [
        f"{what} ({width})"
        for what, width, known in (
            ("rotation", f"± {np.degrees(found.rotation_95):.0f} deg", found.rotation_95 < ROTATION_MAX_95_RAD),
            ("translation", f"± {mm(found.translation_95)} mm", found.translation_95 < TRANSLATION_MAX_95_M),
            ("scale", f"± {100 * (found.scale_95 or 0):.0f} %", (found.scale_95 or 0) < SCALE_MAX_95),
            ("delay", f"± {1000 * (found.delay_95 or 0):.0f} ms", (found.delay_95 or 0) < DELAY_MAX_95_S),
        )
        if not known
    ]
    if open_parts:
        return (
            f"the motion does not determine {', '.join(open_parts)}; walk about and turn in the room, and move {pair}"
        )
    return ""


def _describe(found: Registration, names: Sequence[str]) -> Finding:
    x, y, z = found.translation.tolist()
    parts = [
        f"turned by {np.degrees(found.angle):.2f} deg (± {np.degrees(found.rotation_95):.2g})",
        f"moved by ({x:z.3f}, {y:z.3f}, {z:z.3f}) m (± {mm(found.translation_95)} mm where its sensors are)",
    ]
    if found.scale_95 is not None:
        parts.append(f"scaled by {found.scale:.4f} (± {found.scale_95:.2g})")
    if found.delay_95 is not None:
        late = "late" if found.delay > 0 else "early"
        parts.append(f"its clock {late} by {1000 * abs(found.delay):.1f} ms (± {1000 * found.delay_95:.2g})")
    text = (
        f"{_list(names)}: brought into the world of {found.pair[0]} by its joint with {found.pair[1]}: "
        f"{', '.join(parts)}; the joint comes apart by {mm(found.residual)} mm, before by {mm(found.before)} mm"
    )
    return Finding("registered", "info", text, tuple(names), value=found.residual, unit="m")


def _look_for_worlds(estimate: Estimate) -> list[Finding]:
    """Figures that would be joined if they were in another world than the largest."""
    take = estimate.take
    first, others = _find_systems(estimate, "auto")
    told, looked = [], 0
    for own in others if len(first) > 1 and estimate.structure.determined else ():
        from ..estimate.registration import find_registration

        looked += len(first) * len(own)
        if looked > WORLDS_TOLD_MAX_PAIRS:
            break
        found = find_registration(take, first, own, quick=True)
        if found is not None and not _is_late_only(found) and not _speak_against(estimate, found):
            names = tuple(take.names[k] for k in own)
            text = (
                f"{_list(names)}: tracked in another world than {found.pair[0]}, turned by "
                f"{np.degrees(found.angle):.0f} deg: {' and '.join(found.pair)} share a point "
                f"({mm(found.residual)} mm) in no common world but that; --register auto brings them together"
            )
            told.append(Finding("two-worlds", "warning", text, names, value=found.angle, unit="rad"))
    return told


def _is_late_only(found: Registration) -> bool:
    """Whether the second system is in the same world, on another clock: a late sensor."""
    near = found.angle < max(SAME_WORLD_MAX_RAD, found.rotation_95)
    return bool(near and np.linalg.norm(found.translation) < max(SAME_WORLD_MAX_M, found.translation_95))


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:3])} and {many(len(names) - 3, 'more sensor')}"
