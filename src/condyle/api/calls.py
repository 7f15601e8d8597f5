"""The calls: a recording fitted, a later one solved on a figure that is known, mountings fitted together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from .._version import __version__
from ..errors import UsageError, check_path, suggest
from ..findings import Finding
from ..io import MOTION, OPTIONS, SKELETON
from ..io.fit_id import hash_input, list_windows, make_fit_id, pack_options
from ..io.format import Reading, ReadOptions
from ..io.options_file import read_options
from ..io.scale_file import factor_of
from ..maths.threads import keep_arithmetic, limit_threads
from ..model.field import FieldModel, Rod
from ..model.options import OWN_TREE, FitOptions, Method, TreeScore
from ..model.progress import begin_step
from ..model.scale import Scale
from ..model.skeleton import Skeleton, Slip
from ..model.take import Take
from ..model.values import dataclass
from .fitted import FilePath, Fit, FramesInMemory, NoFrames, add_findings, change_figure, load, open_profile
from .sources import Recorded, check_files, list_sources, load_parts, load_take

if TYPE_CHECKING:
    from ..model.profile import Profile

OTHER_WORDS = {"method": "plan"}  # that the command line and skeleton.json have for an option
QUICK_MAX_BODIES = 400  # with 100 frames 300 bodies take 5 s of CPU time, 1000 about a minute


def fit(
    source: Recorded,
    plan: Method = "default",
    *,
    tree: Iterable[tuple[str, str]] | Mapping[str, str | None] | Literal["file"] = (),
    root: str | None = None,
    loops: Iterable[tuple[str, str]] = (),
    world: bool = False,
    tree_score: TreeScore | None = None,
    intervals: bool = True,
    prepare: bool = True,
    fix: str | Iterable[str] = (),
    no_fix: str | Iterable[str] = (),
    symmetric: float | None = None,
    scale: float | FilePath | Scale = 1.0,
    belong: bool = True,
    kinds: Iterable[tuple[str, str, str]] = (),
    field: bool | FieldModel | Rod = False,
    register: str = "",
    **reading: Unpack[Reading],
) -> Fit:
    """The articulated figure inside a recording.

    source      the path of a file, or of several files of the same sensors; {label: file} of one room at one time,
                whose bodies become label:name; a Take; or matrices (n, m, 4, 4) [m]
    plan        "default": all joints together, robust; "least-squares": the paper's; "drift": for sensors that drift
    tree        known edges, all or some: pairs (parent, child), or {child: parent}; "file": the recording's own
    root        name of the root; None: the graph centre, calmest first
    loops       pairs known to close a loop; located like joints;  world: add the room as a fixed body `world`
    tree_score  "likelihood" or "residual" (the paper's spanning tree); None: as the plan has it
    intervals   estimate the intervals, the slowest step
    prepare     mask dropouts and frozen samples, put hemisphere flips right
    fix, no_fix repairs by name to be done, or not: dropouts, flips, repeats, latency, slips, part-time, swaps
    symmetric   [m] standard deviation within which lengths of the left and right side are taken as equal; None: not
    scale       factor on recorded lengths [-], or what `condyle scale` wrote
    belong      ask whether several files are of one person and one mounting, and leave out what is not
    kinds       (body, body, "ball" or "hinge") of joints whose kind is known: the motion tells where they are alone
    field       take the bend of the room away: True as the joints tell it, a Rod, or a FieldModel that is known
    register    bring the sensors of a second tracking system into the world of the first: "auto", or both as "A:B"
    reading     how the numbers of files are to be read: see ReadOptions
    """
    options = FitOptions(
        method=plan,
        tree_score=tree_score,
        tree=() if isinstance(tree, str) and tree == OWN_TREE else tree,  # type: ignore[arg-type]
        root=root,
        loops=loops,  # type: ignore[arg-type]
        world=world,
        intervals=intervals,
        prepare=prepare,
        fix=fix,  # type: ignore[arg-type]
        no_fix=no_fix,  # type: ignore[arg-type]
        symmetric=symmetric,
        scale=factor_of(scale),
        belong=belong,
        kinds=kinds,  # type: ignore[arg-type]
        field=field,
        register=register,
    )
    return fit_with(source, options, _name_reading(fit, reading), own_tree=isinstance(tree, str))


def fit_with(
    source: Recorded,
    options: FitOptions,
    reading: ReadOptions | None = None,
    *,
    own_tree: bool = False,
    performer: Profile | None = None,
    tell: Callable[[str], None] | None = None,
) -> Fit:
    """`fit` with its options as values.

    own_tree   the tree is the hierarchy that the recording brings along
    performer  whose tree and kinds of joints are known; of its bodies some may bear no sensor
    tell       is given a sentence before work that takes long
    """
    from ..pipeline import run

    source = list(source) if isinstance(source, Iterator) else source
    reading = replace(reading or ReadOptions(), fix=("swaps",) if options.fixes("swaps") else ())
    with limit_threads():
        take = load_take(source, reading)
        begin_step("looking over the take")
        if own_tree:
            if take.own is None:
                raise UsageError("the recording brings no hierarchy along; name the edges", code="bad-tree")
            options = replace(options, tree=take.own.edges(take.names))
        if performer is not None:
            from ..motion.known import leave_others
            from ..result.profile import cut_profile, find_known_kinds, kinds_of

            take = leave_others(take, performer.bodies)
            part = cut_profile(performer, take.names)
            options = replace(options, tree=part.edges, kinds=find_known_kinds(kinds_of([part])))
        if tell is not None and take.bodies > QUICK_MAX_BODIES:
            tell(f"{take.bodies} bodies take minutes, by the cube of their number; --only fits some of them")
        digest = hash_input(take)
        result = run(take, options)
        turns = None
        if any(finding.code == "frozen-samples" for finding in result.skeleton.findings):
            from ..prepare.held_places import find_held_turns

            turns = find_held_turns(take, result.take)
    fit_id = make_fit_id(digest.encode(), __version__.encode(), pack_options(options, reading))
    known = {**result.skeleton.take, "sha256": digest}
    if windows := list_windows(list_sources(source, take.names), reading):
        known["windows"] = windows
    skeleton = replace(result.skeleton, fit_id=fit_id, take=known)
    frames = FramesInMemory(skeleton, result.take, result.gaps, result.weights, turns=turns)
    return Fit(skeleton, frames, result.field, (options, reading))


@dataclass(frozen=True, eq=False)
class Remounted:
    """Fits of one person, one for every mounting, with one set of limb lengths.

    profile   the performer;  findings: what is to be said of all of them
    without   the performer without what sides and proportions told; None where neither was asked for
    """

    profile: Profile
    fits: tuple[Fit, ...]
    findings: tuple[Finding, ...]
    without: Profile | None = None

    def save(self, folder: FilePath, *, report: bool = True, export: str = "") -> Remounted:
        """Writes every fit to a folder of its own in `folder`, named after its file, and profile.json beside them."""
        from ..io.folder import number_names
        from ..io.profile_file import PROFILE, write_profile

        names = number_names([Path(one.provenance.sources[0]).stem or "fit" for one in self.fits])
        fits = [
            one.save(Path(folder) / name, report=report, export=export)
            for one, name in zip(self.fits, names, strict=True)
        ]
        write_profile(Path(folder) / PROFILE, self.profile)
        return replace(self, fits=tuple(fits))


@keep_arithmetic()
def fit_remounted(
    sources: Sequence[FilePath | Take],
    *,
    sides: bool = False,
    proportions: bool = False,
    options: FitOptions | None = None,
    reading: ReadOptions | None = None,
) -> Remounted:
    """Takes of one person with the sensors put on anew for each: they share limb lengths and kinds, and nothing else.

    sources      one file, or take, a mounting
    sides        left and right lengths are drawn together, as far as the lengths themselves say that they are alike
    proportions  limb lengths are drawn towards human proportions, as far as they keep to them
    options, reading  of every fit

    Where trees differ, that of the fit whose least sure joint is surest is taken for all; a joint has the kind that
    most of them say.
    """
    from ..io.skeleton_file import to_json
    from ..motion.known import measure_gaps
    from ..result.mountings import share_figures
    from ..result.profile import find_known_kinds, kinds_of

    if isinstance(sources, str | bytes) or not isinstance(sources, Sequence) or len(sources) < 2:
        raise UsageError("several mountings are several files, one each; name two or more", code="bad-call")
    check_files([one for one in sources if not isinstance(one, Take)])
    options = options or FitOptions()
    if not options.intervals:
        raise UsageError("lengths of several mountings are weighed by their intervals; fit with them", code="bad-call")
    fits = [fit_with(source, options, reading) for source in sources]
    best = max(fits, key=lambda one: min((joint.support or 0.0 for joint in one.skeleton.joints), default=0.0))
    tree = best.skeleton.edges
    edges = {frozenset(pair) for pair in tree}
    for k, (one, source) in enumerate(zip(fits, sources, strict=True)):
        if {frozenset((joint.parent, joint.child)) for joint in one.skeleton.joints} != edges:
            fits[k] = fit_with(source, replace(options, tree=tree), reading)
    kinds = find_known_kinds(kinds_of([one.skeleton for one in fits]))
    for k, (one, source) in enumerate(zip(fits, sources, strict=True)):
        own = {(joint.kind, frozenset((joint.child, joint.parent))) for joint in one.skeleton.joints}
        if any((kind, frozenset(edge)) not in own for *edge, kind in kinds):
            fits[k] = fit_with(source, replace(options, tree=tree, kinds=kinds), reading)
    shared = share_figures([one.skeleton for one in fits], sides=sides, proportions=proportions)
    found = []
    for one, skeleton in zip(fits, shared.skeletons, strict=True):
        fit_id = make_fit_id(to_json(skeleton), *(str(other.skeleton.fit_id).encode() for other in fits))
        gap, weight, joints = measure_gaps(replace(skeleton, fit_id=fit_id), one.take, one.weight)
        held = replace(skeleton, fit_id=fit_id, joints=joints)
        found.append(change_figure(one, held, gap, weight))
    profile = replace(shared.profile, fits=tuple(str(one.skeleton.fit_id) for one in found))
    return Remounted(profile, tuple(found), shared.findings, shared.without)


def solve(
    source: Recorded,
    skeleton: FilePath | Fit | Skeleton | None = None,
    *,
    profile: FilePath | Profile | None = None,
    remounted: bool = False,
    prepare: bool = True,
    fix: str | Iterable[str] = (),
    no_fix: str | Iterable[str] = (),
    scale: float | FilePath | Scale | None = None,
    field: bool = True,
    **reading: Unpack[Reading],
) -> Fit:
    """A later take played on a known figure, with the sensors where they were at its calibration.

    Sensors may be absent, and may report orientation only as long as one has a position. What the others do not tell is
    a finding (`sensor-absent`), as is a sensor that moved since (`sensor-moved`).

    source      as of `fit`
    skeleton    the calibration: its folder, its skeleton.json, a Fit, or a Skeleton. With a Skeleton, or without the
                motion beside the file, nothing tells how a body without a sensor is turned as a rule
    profile     in its place: the performer, whose sensors were put on anew. Mounts are fitted to this take, and its
                lengths are held to the profile within what both are known to
    remounted   with a skeleton: the same by the profile of that fit alone
    prepare, fix, no_fix  as of `fit`
    scale       factor on recorded lengths [-], or what `condyle scale` wrote; None: as in the calibration
    field       take the bend of the room away that the calibration found
    reading     how the numbers of files are to be read; what is not given is as in the calibration
    """
    if (skeleton is None) == (profile is None):
        raise UsageError("give the skeleton of a calibration, or a profile", code="bad-call")
    if skeleton is None or remounted:
        from ..result.profile import cut_profile, describe_bare, make_profile

        known_as = make_profile([_open_calibration(skeleton).skeleton])[0] if skeleton is not None else profile
        performer = open_profile(known_as)  # type: ignore[arg-type]
        asked = FitOptions(prepare=prepare, fix=fix, no_fix=no_fix, scale=factor_of(scale or 1.0))  # type: ignore[arg-type]
        fitted = fit_with(source, asked, _name_reading(solve, reading), performer=performer)
        bodies = fitted.skeleton.bodies
        found = fitted.use_profile(cut_profile(performer, bodies))
        return replace(found, skeleton=add_findings(found.skeleton, describe_bare(performer, bodies)))
    calibration = _open_calibration(skeleton)
    known, model = calibration.skeleton, calibration.field if field else None
    factor = (
        known.scale / (calibration.field.scale if calibration.field else 1.0) if scale is None else factor_of(scale)
    )
    options = FitOptions(
        tree=known.edges,
        world=bool(known.options.get("world")),
        prepare=prepare,
        fix=fix,  # type: ignore[arg-type]
        no_fix=no_fix,  # type: ignore[arg-type]
        scale=factor,
        field=model or False,
    )
    if isinstance(source, Take | np.ndarray):
        return solve_with(source, calibration, options, _name_reading(solve, reading))
    before = _find_reading(calibration)
    return solve_with(source, calibration, options, _name_reading(solve, {**before, **reading}))


def solve_with(source: Recorded, calibration: Fit, options: FitOptions, reading: ReadOptions) -> Fit:
    """`solve` with its options as values."""
    from ..faults.later import repair_later
    from ..io.skeleton_file import to_json
    from ..model.motion import reference_rotations
    from ..motion.ik import add_turns
    from ..motion.known import Matched, falls_apart, join_matched, match_sensors, name_findings, play_known, split_files
    from ..pipeline import PLAN_OF, prepare_take
    from ..prepare.held_places import add_held_turns

    known = calibration.skeleton
    reading = replace(reading, fix=("swaps",) if options.fixes("swaps") else ())
    with limit_threads():
        takes = [match_sensors(known, *part) for part in load_parts(source, known, reading)]
        matched = join_matched(takes)
        take, turns = matched.take, matched.turns
        digest = hash_input(take if turns is None else add_turns(take, turns))
        asked = replace(options, world=False, belong=False)
        files, slips, start = [], list[Slip](), 0
        for part in split_files(matched):  # each by itself: one of another person tells nothing of the others
            given = asked
            # Delays show at joints of two sensors alone.
            if asked.fixes("latency") and "latency" not in asked.fix and falls_apart(known, part.take.seen):
                given = replace(asked, no_fix=(*asked.no_fix, "latency"))
            ready, _, findings, _ = prepare_take(part.take, given, PLAN_OF["default"])
            own = part.turns
            if asked.prepare and asked.fixes("repeats"):
                own = add_held_turns(part.take, own)
            if own is not None and ready.frames < part.take.frames:  # rows that repeat whole were dropped
                when, kept = (one.segment + 1j * one.time for one in (part.take, ready))
                own = own[np.isin(when, kept)]
            later = repair_later(ready, known.joints, asked)
            slips += [replace(slip, frame=slip.frame + start) for slip in later.slips]
            start += ready.frames
            files.append(Matched(later.take.with_findings((*ready.findings, *findings, *later.findings)), own))
        joined = join_matched(name_findings(files))
        ready = joined.take.with_findings((*take.findings, *joined.take.findings))
        reference = None
        if not isinstance(calibration.frames, NoFrames):
            reference = reference_rotations(known, calibration.motion)
        played = play_known(known, ready, reference=reference, turns=joined.turns, slips=slips)
    fit_id = make_fit_id(digest.encode(), __version__.encode(), to_json(known), pack_options(options, reading))
    skeleton = replace(played.skeleton, fit_id=fit_id, take={**played.skeleton.take, "sha256": digest})
    frames = FramesInMemory(skeleton, played.take, played.gap, played.weight, played.motion)
    return Fit(skeleton, frames, options.field if isinstance(options.field, FieldModel) else None)


def _name_reading(call: Callable[..., Fit], given: Mapping[str, Any]) -> ReadOptions:
    """How files are to be read, by name; raises where a name is no option of the call at all."""
    reading = [field.name for field in fields(ReadOptions)]
    for name in given:
        if name not in reading:
            from inspect import signature

            known = [one for one in signature(call).parameters if one not in ("source", "reading")] + reading
            hint = suggest(OTHER_WORDS[name] if OTHER_WORDS.get(name) in known else name, known)
            raise UsageError(f"{call.__name__} has no option '{name}'; {hint}", code="bad-option")
    return ReadOptions(**given)


def _open_calibration(given: FilePath | Fit | Skeleton) -> Fit:
    """The calibration with its motion, where there is one."""
    if isinstance(given, Fit):
        return given
    if isinstance(given, Skeleton):
        return Fit(given, NoFrames())
    from ..io.folder import find_folder
    from ..io.skeleton_file import read_skeleton

    place = check_path(given, "a calibration")
    skeleton = read_skeleton(place)
    return load(place) if (find_folder(place) / MOTION).is_file() else Fit(skeleton, NoFrames())


def _find_reading(calibration: Fit) -> dict[str, Any]:
    """How the files of a calibration were read, as far as it was said; the part that was read is its own."""
    if calibration.asked is not None:
        asked = calibration.asked[1]
        given = {name: getattr(asked, name) for name in asked.given}
    else:
        place = None if calibration.folder is None else calibration.folder / OPTIONS
        given = read_options(place)[1] if place is not None and place.is_file() else {}
    return {name: value for name, value in given.items() if name not in ("fix", "start", "stop", "only", "drop")}


def open_figures(places: Sequence[FilePath]) -> list[Skeleton | Profile]:
    """The skeletons in folders, and the profiles in files."""
    from ..io.profile_file import PROFILE, read_profile
    from ..io.skeleton_file import read_skeleton

    found: list[Skeleton | Profile] = []
    for place in map(Path, places):
        beside = place / PROFILE
        if place.is_dir() and not (place / SKELETON).exists() and beside.is_file():
            place = beside
        skeleton = place.is_dir() or place.name == SKELETON
        found.append(read_skeleton(place) if skeleton else read_profile(place))
    return found
