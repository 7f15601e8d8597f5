"""What a calibration is asked for, and whether a take can answer: every refusal in one place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from .errors import CondyleError, UsageError
from .field_model import FieldModel
from .field_rows import Rod
from .findings import many
from .structure import Structure
from .sums import centred
from .take import WORLD, Take, evenly

Method = Literal["default", "least-squares", "accurate", "drift"]
TreeScore = Literal["likelihood", "residual"]
FEWEST_FRAMES = 3  # two frames always fit


@dataclass(frozen=True)
class Options:
    """What a calibration was asked for.

    method      "default": all joints together, corrected and robust; "least-squares": the paper's estimator;
                "accurate": whole-skeleton maximum likelihood under white noise; "drift": the default from differences
                over a second, for sensors that drift
    tree_score  "likelihood": log-determinant of the residuals; "residual": the paper's minimum spanning tree.
                None: residual for least-squares, likelihood otherwise
    tree        known edges (parent, child), all of them or some
    root        name of the root; None: the graph centre, calmest first
    loops       pairs known to close a loop; located like joints
    world       add a fixed body `world`, so that bodies can be joined to the room
    intervals   estimate the intervals (the slowest step)
    prepare     mask dropouts and frozen samples, put hemisphere flips right; False: the poses as they were recorded
    fix_latency estimate and remove delays between sensors while preparing; least squares never does
    symmetric   [m] standard deviation within which lengths of the left and right side are taken as equal; None: not
    fix_slips   move sensors back that slipped on their limb; least squares does not look for them
    fix_swaps   exchange two sensors back where they were exchanged; False: leave both out there. Least squares does not
                look for them
    scale       factor on recorded lengths, from two sensors at a known distance
    field       take the bend of the room away. True: as the joints tell it; a Rod: as a rod tells it as well; a
                FieldModel: one that is known
    """

    method: Method = "default"
    tree_score: TreeScore | None = None
    tree: tuple[tuple[str, str], ...] = ()
    root: str | None = None
    loops: tuple[tuple[str, str], ...] = ()
    world: bool = False
    intervals: bool = True
    prepare: bool = True
    fix_latency: bool = True
    fix_slips: bool = True
    symmetric: float | None = None
    fix_swaps: bool = False
    scale: float = 1.0
    field: bool | FieldModel | Rod = False

    def plain(self) -> dict[str, Any]:
        """The options as plain values, for files; of a field, only where it came from."""
        field = {FieldModel: "given", Rod: "rod"}.get(type(self.field), self.field)
        return {**asdict(replace(self, field=False)), "field": field}


def named_pairs(pairs: Iterable[tuple[str, str]], what: str) -> tuple[tuple[str, str], ...]:
    """Pairs of names, checked: two each, and of two different bodies."""
    out = []
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
            raise UsageError(f"{what} has {pair!r} where a pair of body names is expected", code="bad-tree")
        if pair[0] == pair[1]:
            raise UsageError(f"{what} joins '{pair[0]}' to itself; name two bodies", code="bad-tree")
        if (pair[0], pair[1]) not in out:
            out.append((pair[0], pair[1]))
    return tuple(out)


def with_world(take: Take) -> Take:
    """The take with a fixed body `world` at the origin of the room."""
    if WORLD in take.names:
        raise UsageError("this take already has a body named 'world'; rename it", code="duplicate-name", body=WORLD)
    R = np.concatenate([take.R_world_body, np.tile(np.eye(3), (take.frames, 1, 1, 1))], axis=1)
    p = np.concatenate([take.p_world_body, np.zeros((take.frames, 1, 3))], axis=1)
    return replace(take, names=(*take.names, WORLD), R_world_body=R, p_world_body=p)


def check_options(options: Options) -> None:
    if options.method not in get_args(Method):
        raise UsageError(
            f"no method named '{options.method}'; choose from {', '.join(get_args(Method))}", code="bad-call"
        )
    if options.tree_score not in (None, *get_args(TreeScore)):
        raise UsageError(
            f"no tree score named '{options.tree_score}'; choose from {', '.join(get_args(TreeScore))}", code="bad-call"
        )


def check_take(take: Take, options: Options) -> None:
    path = ", ".join(take.sources) or None
    if take.bodies < 2:
        name = take.names[0] if take.names else None
        raise CondyleError(
            "one sensor alone has no joint; to fit it against the room, add --world (world=True)",
            code="one-sensor",
            path=path,
            body=name,
        )
    if take.frames < FEWEST_FRAMES:
        raise CondyleError(
            f"{many(take.frames, 'frame')} cannot tell a joint; at least {FEWEST_FRAMES} are needed, "
            "and seconds of motion",
            code="few-frames",
            path=path,
        )
    seen = take.seen.sum(axis=0)
    if (seen >= FEWEST_FRAMES).sum() < 2:
        raise CondyleError(
            "fewer than two sensors are seen in three frames or more; check the file's columns and units",
            code="nothing-seen",
            path=path,
        )
    glance = evenly(take.frames, 100)  # enough, unless they all are alike
    if not any(centred(take.p_world_body[rows], take.seen[rows]).any() for rows in (glance, slice(None))):
        raise CondyleError(
            "all positions are the same; are these orientations only? condyle needs positions as well",
            code="no-positions",
            path=path,
        )
    if options.root is not None:
        take.index(options.root)


def check_forest(take: Take, fixed: Sequence[tuple[int, int]]) -> None:
    label = list(range(take.bodies))
    above: dict[int, int] = {}
    for parent, child in fixed:
        if above.setdefault(child, parent) != parent:
            raise UsageError(
                f"the given tree has two parents for '{take.names[child]}': '{take.names[above[child]]}' and "
                f"'{take.names[parent]}'",
                code="bad-tree",
            )
        if label[parent] == label[child]:
            raise UsageError(
                f"the given tree closes a loop at '{take.names[parent]}' and '{take.names[child]}'; "
                "name that edge as a loop instead",
                code="bad-tree",
            )
        old = label[child]
        label = [label[parent] if value == old else value for value in label]


def check_seen_together(take: Take, pairs: Sequence[tuple[int, int]]) -> None:
    for i, j in pairs:
        together = int((take.seen[:, i] & take.seen[:, j]).sum())
        if together < FEWEST_FRAMES:
            raise CondyleError(
                f"'{take.names[i]}' and '{take.names[j]}' were given as joined but share {together} frames",
                code="few-frames",
                path=", ".join(take.sources) or None,
            )


def check_twins(take: Take, structure: Structure) -> None:
    """Two sensors that report the same pose in every frame are one sensor read twice."""
    alike = structure.fits.residual <= 1e-6 * structure.motion.size
    for i, j in structure.fits.pairs[alike]:
        both = take.seen[:, i] & take.seen[:, j]
        same = np.array_equal(take.p_world_body[both, i], take.p_world_body[both, j])
        same = same and np.array_equal(take.R_world_body[both, i], take.R_world_body[both, j])
        if both.sum() >= FEWEST_FRAMES and same:
            raise CondyleError(
                f"'{take.names[i]}' and '{take.names[j]}' report the same pose in all {both.sum()} frames; "
                "remove one, or check the columns",
                code="identical-sensors",
                path=", ".join(take.sources) or None,
                body=take.names[j],
            )
