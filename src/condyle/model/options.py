"""What a calibration is asked for, and whether a take can answer: every refusal in one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal, get_args

from ..errors import UsageError, check_flag, check_number, check_several
from .field import FieldModel, Rod
from .repairs import REPAIRS, check_repairs
from .values import dataclass

Method = Literal["default", "least-squares", "drift"]
TreeScore = Literal["likelihood", "residual"]
OWN_TREE = "file"  # in the place of edges: those that the recording brings along


@dataclass(frozen=True)
class FitOptions:
    """What a calibration was asked for.

    method      "default": all joints together, corrected and robust; "least-squares": the paper's estimator;
                "drift": the default from differences over a second, for sensors that drift
    tree_score  "likelihood": log-determinant of the residuals; "residual": the paper's minimum spanning tree.
                None: residual for least-squares, likelihood otherwise
    tree        known edges (parent, child), all of them or some
    root        name of the root; None: the graph centre, calmest first
    loops       pairs known to close a loop; located like joints
    world       add a fixed body `world`, so that bodies can be joined to the room
    intervals   estimate the intervals (the slowest step)
    prepare     mask dropouts and frozen samples, put hemisphere flips right; False: the poses as they were recorded
    fix         repairs by name (REPAIRS) to be done though they are not by default: "swaps"
    no_fix      repairs by name (REPAIRS) not to be done, such as "slips"
    symmetric   [m] standard deviation within which lengths of the left and right side are taken as equal; None: not
    scale       factor on recorded lengths, from two sensors at a known distance
    belong      ask whether several files are of one person and one mounting; False: they are taken as one
    kinds       (body, body, kind) of joints whose kind is known from elsewhere, "ball" or "hinge": the motion then
                tells where they are, and not what they are
    field       take the bend of the room away. True: as the joints tell it; a Rod: as a rod tells it as well; a
                FieldModel: one that is known
    register    bring the sensors of a second tracking system into the world of the first: "auto", or the names of both
                as "A:B", with commas and patterns; "": not
    """

    method: Method = "default"
    tree_score: TreeScore | None = None
    tree: tuple[tuple[str, str], ...] = ()
    root: str | None = None
    loops: tuple[tuple[str, str], ...] = ()
    world: bool = False
    intervals: bool = True
    prepare: bool = True
    fix: tuple[str, ...] = ()
    no_fix: tuple[str, ...] = ()
    symmetric: float | None = None
    scale: float = 1.0
    belong: bool = True
    kinds: tuple[tuple[str, str, str], ...] = ()
    field: bool | FieldModel | Rod = False
    register: str = ""

    def __post_init__(self) -> None:
        for name in ("fix", "no_fix"):
            object.__setattr__(self, name, check_repairs(getattr(self, name)))
        for name in ("world", "intervals", "prepare", "belong"):
            object.__setattr__(self, name, check_flag(getattr(self, name), name))
        for name in ("tree", "loops"):
            object.__setattr__(self, name, check_pairs(getattr(self, name), name))
        object.__setattr__(self, "kinds", check_kinds(self.kinds))
        both = [name for name in self.fix if name in self.no_fix]
        if both:
            raise UsageError(f"the repair '{both[0]}' is asked for and switched off", code="bad-option")

    def fixes(self, repair: str) -> bool:
        """Whether a repair (REPAIRS) is done."""
        return repair in self.fix or (REPAIRS[repair] and repair not in self.no_fix)

    @property
    def puts_flips_right(self) -> bool:
        return self.prepare and self.fixes("flips")

    def to_plain(self) -> dict[str, Any]:
        """The options as plain values, for files; of a field, only where it came from."""
        field = {FieldModel: "given", Rod: "rod"}.get(type(self.field), self.field)
        pairs = {name: [list(pair) for pair in getattr(self, name)] for name in ("tree", "loops")}
        names = {name: list(getattr(self, name)) for name in ("fix", "no_fix")}
        plain = {**asdict(replace(self, field=False)), **pairs, **names, "field": field}
        kinds = plain.pop("kinds")
        return {**plain, "kinds": [list(one) for one in kinds]} if kinds else plain


def check_pairs(pairs: Iterable[tuple[str, str]] | Mapping[str, str | None], what: str) -> tuple[tuple[str, str], ...]:
    """Pairs of names, (parent, child) or {child: parent}, checked: two each, and of two different bodies."""
    listed = [(p, c) for c, p in pairs.items() if p is not None] if isinstance(pairs, Mapping) else pairs
    out = dict[tuple[str, str], None]()
    for pair in check_several(listed, what):
        if (
            not isinstance(pair, Sequence)
            or isinstance(pair, str)
            or len(pair) != 2
            or not all(isinstance(name, str) for name in pair)
        ):
            raise UsageError(f"{what} has {pair!r} where a pair of body names is expected", code="bad-tree")
        if pair[0] == pair[1]:
            raise UsageError(f"{what} joins '{pair[0]}' to itself; name two bodies", code="bad-tree")
        out[pair[0], pair[1]] = None
    return tuple(out)


def check_kinds(kinds: Iterable[tuple[str, str, str]]) -> tuple[tuple[str, str, str], ...]:
    """Two names and a kind each, checked."""
    found = check_several(kinds, "kinds")
    for kind in found:
        if isinstance(kind, str) or not isinstance(kind, Sequence) or len(kind) != 3:
            raise UsageError(f"kinds has {kind!r} where two bodies and a kind are expected", code="bad-call")
        if kind[2] not in ("ball", "hinge"):
            raise UsageError(f"kinds has '{kind[2]}' where ball or hinge is expected", code="bad-option")
    return found


def check_options(options: FitOptions) -> None:
    if options.symmetric is not None:
        check_number(options.symmetric, "symmetric")
    if options.method not in get_args(Method):
        raise UsageError(
            f"no method named '{options.method}'; choose from {', '.join(get_args(Method))}", code="bad-call"
        )
    if options.tree_score not in (None, *get_args(TreeScore)):
        raise UsageError(
            f"no tree score named '{options.tree_score}'; choose from {', '.join(get_args(TreeScore))}", code="bad-call"
        )
    if not isinstance(options.field, bool | FieldModel | Rod):
        raise UsageError(f"field is True or False, a Rod or a FieldModel, not {options.field!r}", code="bad-call")
