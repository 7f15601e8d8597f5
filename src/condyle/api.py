"""The library is the program: what `condyle` does on the command line is one call here.

fit = condyle.fit("walk.npz")
fit.save("out")
condyle.load("out").export("bvh,glb")
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from filecmp import cmp
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Unpack

import numpy as np
from numpy.typing import NDArray

from ._version import __version__
from .errors import CondyleError, UsageError, check_path, suggest
from .findings import Finding, sort_findings
from .io import FIELD, MOTION, OPTIONS, REPORT, SKELETON
from .io.fit_id import hash_input, list_windows, make_fit_id, pack_options
from .io.format import Reading, ReadOptions
from .io.options_file import describe_options, read_options, write_options
from .io.scale_file import factor_of
from .maths.arrays import Floats
from .maths.threads import limit_threads
from .model.field import FieldModel, Rod
from .model.motion import Motion, forward
from .model.options import FitOptions, Method, TreeScore, check_pairs
from .model.progress import begin_step
from .model.scale import Scale
from .model.skeleton import Skeleton
from .model.take import Take
from .model.values import dataclass

if TYPE_CHECKING:  # what writes and exports is imported where that is asked for
    from .io.angles_file import AngleUnit
    from .io.exports.registry import Names
    from .io.exports.scene import Scene, Written
    from .model.angles import Angles, Landmarks
    from .model.axes import AxisChain
    from .model.gait_events import GaitEvent
    from .model.profile import Profile
    from .motion.retarget import Lengths
    from .motion.retarget_rig import RigMotion

FilePath = str | os.PathLike[str]
Recorded = FilePath | Sequence[FilePath] | Mapping[str, FilePath] | Take | NDArray[Any]  # what a fit is made from
OTHER_WORDS = {"method": "plan"}  # that the command line and skeleton.json have for an option
QUICK_MAX_BODIES = 400  # with 100 frames 300 bodies take 5 s of CPU time, 1000 about a minute


@dataclass(frozen=True)
class Provenance:
    """Where a fit came from.

    fit_id   hash of the input, the options and the version; the same three give the same files, byte for byte. None in
             folders that version 0.1 wrote
    input    SHA-256 of the poses as they were read; None as above
    version  of condyle
    sources  files, as they were named
    options  what was asked for, by name, as plain values: those of FitOptions
    """

    fit_id: str | None
    input: str | None
    version: str
    sources: tuple[str, ...]
    options: Mapping[str, Any]


class _Frames(Protocol):
    """What a fit knows frame by frame, in memory or in a file."""

    def take(self) -> Take: ...
    def motion(self) -> Motion: ...
    @property
    def gap(self) -> Floats: ...
    @property
    def weight(self) -> Floats: ...


@dataclass(frozen=True, eq=False)
class _InMemory:
    skeleton: Skeleton
    measured: Take
    gap: Floats
    weight: Floats
    moved: Motion | None = None

    def take(self) -> Take:
        return self.measured

    def motion(self) -> Motion:
        from .motion.ik import fit_motion

        return fit_motion(self.skeleton, self.measured).motion if self.moved is None else self.moved


class _NoFrames:
    """Frames of a skeleton that stands alone."""

    def take(self) -> Take:
        raise UsageError("the skeleton stands alone; there is no recording with it", code="bad-call")

    def motion(self) -> Motion:
        raise UsageError("the skeleton stands alone; there is no motion with it", code="bad-call")

    gap = property(take)
    weight = property(take)


@dataclass(frozen=True, eq=False)
class Fit:
    """A skeleton with what it came from, in memory or in a folder. What is there frame by frame is fetched when asked.

    skeleton  the figure, with its findings
    field     the bend of the room that was taken away from `take`, where that was asked for
    asked     the options in full, where the fit was made in this process
    folder    where it was saved or loaded from; files: what `save` wrote there
    """

    skeleton: Skeleton
    frames: _Frames
    field: FieldModel | None = None
    asked: tuple[FitOptions, ReadOptions] | None = None
    folder: Path | None = None
    files: tuple[Path, ...] = ()

    @cached_property
    def take(self) -> Take:
        """The poses that the joints were fitted to: scaled, repaired and, where asked, straightened."""
        return self.frames.take()

    @cached_property
    def motion(self) -> Motion:
        """The motion of the skeleton nearest to all sensors, by inverse kinematics."""
        return self.frames.motion()

    @cached_property
    def gap(self) -> Floats:
        """(n, J, 3) [m] world vector from the parent's to the child's side of each joint; NaN where not seen."""
        return self.frames.gap

    @cached_property
    def weight(self) -> Floats:
        """(n, J) [-] how much each gap counted; 0: not seen or weighted out."""
        return self.frames.weight

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was noticed, worst first; gaps in the motion are among them once it was saved."""
        return self.skeleton.findings

    @property
    def provenance(self) -> Provenance:
        """Where it came from."""
        skeleton = self.skeleton
        return Provenance(
            skeleton.fit_id,
            skeleton.take.get("sha256"),
            skeleton.condyle,
            tuple(skeleton.take.get("sources", ())),
            {"method": skeleton.method, "scale": skeleton.scale, **skeleton.options},
        )

    def scene(self, motion: Literal["ik", "play"] = "ik", names: Names = "anatomy", up: str | None = None) -> Scene:
        """The figure in motion, as it is exported.

        motion  "ik": the motion nearest to all sensors; "play": the measured rotations
        names   "anatomy": bones are called as human segments where body names tell them; "bodies": as the bodies;
                "mixamo", "vrm" and so on: as that rig has it, in its rest pose
        up      axis of the world that points up, to overrule the recording
        """
        from .io.exports.scene import Scene
        from .motion.play import play

        moved = play(self.skeleton, self.take) if motion == "play" else self.motion
        return Scene(self.skeleton, moved, self.take, names, up)

    def angles(
        self,
        convention: str = "isb",
        *,
        take: Take | None = None,
        neutral: str | float | tuple[float, float] | Take = "auto",
        zero: bool = False,
        heading: str = "auto",
        landmarks: FilePath | Mapping[str, Landmarks] | None = None,
        keep_locked: bool = False,
        up: str | None = None,
    ) -> Angles:
        """Joint angles over time, by the measured rotations; docs/angles.md explains the conventions and the frames.
        Poses that the fit weighted out are left out.

        convention   "isb", "xzy", "opensim", "opensim:gait2392", "pig", "rotvec", "hinge", "euler:ZXY"
        take         another recording of the same sensors, mounted as they were
        neutral      "auto": a quiet stand where there is one; "quiet", "none", a time or (from, to) [s], or a Take of
                     the neutral pose
        zero         every joint reads zero in the neutral pose
        heading      "auto", "travel", "facing", or an axis of the world such as "-y"
        landmarks    file, or {segment: {landmark: marker, or its place [m]}}, that stand for what the motion tells
        keep_locked  keep angles near gimbal lock that noise makes useless
        up           axis of the world that points up, to overrule the recording
        """
        from .io.landmarks_file import read_landmarks
        from .motion.angles import AngleOptions, find_joint_angles, hide_outliers

        points = read_landmarks(landmarks) if isinstance(landmarks, str | os.PathLike) else landmarks
        options = AngleOptions(convention, neutral, zero, heading, points, keep_locked, up)
        if take is None or take is self.take:
            take = hide_outliers(self.skeleton, self.place_turned(), self.weight)
        return find_joint_angles(self.skeleton, take, options)

    def place_turned(self) -> Take:
        """The poses of a solved take, where sensors that report no position are as they were played."""
        from .motion.known import place_turned

        return place_turned(self.skeleton, self.take, self.motion)

    def gait_events(self, take: Take | None = None) -> tuple[GaitEvent, ...]:
        """When feet strike the room and leave it, in the order of time; empty where no foot was worn or makes steps.

        take  another recording of the same sensors, mounted as they were
        """
        from .motion.gait_events import find_gait_events

        return find_gait_events(self.skeleton, self.take if take is None else take)[0]

    def write_angles(
        self,
        formats: str = "csv",
        folder: FilePath | None = None,
        *,
        name: str = "angles",
        unit: AngleUnit = "deg",
        convention: str = "isb",
        **options: Any,
    ) -> tuple[Angles, Written]:
        """The angles, and files of them called `name`, by default in the folder of the fit; `options`: see `angles`.

        formats  "csv", "mot" (OpenSim: always in a convention of OpenSim, in degrees and without gaps), "parquet";
                 beside them stand a .json with how the angles were counted, and gait events where there are any
        """
        from .io.angles_file import parse_angle_formats, write_events_csv, write_mot, write_tables
        from .io.exports.scene import Written
        from .io.folder import check_name, stage_files
        from .motion.gait_events import find_gait_events
        from .motion.neutral import HEADING_NOT_KNOWN

        chosen, name = parse_angle_formats(formats), check_name(name)
        angles = self.angles(convention, **options)
        events, told = find_gait_events(self.skeleton, options.get("take") or self.take)
        findings = [*angles.findings, *told]
        with stage_files(self._folder(folder), self.skeleton.fit_id) as stage:
            files = write_tables(stage.path, name, angles, chosen, unit)
            if events:
                files.append(stage.path / f"{name}-events.csv")
                write_events_csv(files[-1], events)
            if "mot" in chosen:
                own = convention if convention.startswith("opensim") else "opensim"
                # OpenSim has one room for a whole file, and no empty cells.
                if options.get("heading", "auto") == "auto" and angles.heading not in ("travel", HEADING_NOT_KNOWN):
                    options = {**options, "heading": "facing"}
                coordinates = self.angles(own, **{**options, "keep_locked": True})
                written, notes = write_mot(stage.path / f"{name}.mot", coordinates)
                files, findings = files + written, findings + notes
        return angles, Written(tuple(stage.folder / file.name for file in files), tuple(findings))

    def axes(
        self,
        *,
        base: str | None = None,
        tool: str | None = None,
        zero: float | None = None,
        flip: Iterable[str] = (),
    ) -> tuple[AxisChain, ...]:
        """The chains of axes of a machine with their tables, the longest first; docs/robots.md explains them.

        base   body to begin with; by default the end that moves least in the room
        tool   body to end with; by default every other end
        zero   [s] time of the frame in which every joint is at its zero; by default the one nearest to the mean pose
        flip   joints whose axis is to point the other way; by default the first turn is positive
        """
        from .model.chains import find_chains

        return find_chains(self.skeleton, self.take, base=base, tool=tool, zero=zero, flip=tuple(flip))

    def write_axes(
        self, formats: str = "json,csv", folder: FilePath | None = None, *, name: str = "axes", **options: Any
    ) -> tuple[Path, ...]:
        """Files of the tables called `name`, by default in the folder of the fit; `options`: see `axes`."""
        from .io.axes_file import parse_axes_formats, write_axes
        from .io.folder import check_name, stage_files

        chosen, chains, name = parse_axes_formats(formats), self.axes(**options), check_name(name)
        with stage_files(self._folder(folder), self.skeleton.fit_id) as stage:
            files = write_axes(stage.path, name, chains, chosen, self.skeleton.fit_id)
        return tuple(stage.folder / file.name for file in files)

    def save(
        self,
        folder: FilePath,
        *,
        report: bool = True,
        export: str = "",
        beside: Mapping[str, bytes] | None = None,
    ) -> Fit:
        """Writes skeleton.json, motion.npz and options.toml to a folder, all or nothing; an older fit there goes.

        report  write report.html as well
        export  formats to write as well, "bvh,glb", with their findings in skeleton.json
        beside  files to stand beside the fit, by their names and contents; a later fit does not remove them

        The folder is made if it is missing. Returns the fit with its folder, its files, and what there was to say.
        """
        from .io.exports.take_npz import write_motion_npz
        from .io.folder import stage_files
        from .io.skeleton_file import to_json, write_skeleton

        told = [finding for finding in self.motion.findings if finding.code.startswith("gap-")]
        skeleton = _add_findings(self.skeleton, told)
        if skeleton.fit_id is None:  # of a folder that version 0.1 wrote
            skeleton = replace(skeleton, fit_id=make_fit_id(to_json(skeleton)))
        with stage_files(folder, skeleton.fit_id, replaces=True, kept=map(Path, self.take.sources)) as stage:
            begin_step("writing the motion")
            played = forward(skeleton, self.motion)
            write_motion_npz(stage.path / MOTION, self.take, self.gap, self.weight, skeleton, played)
            write_skeleton(stage.path / SKELETON, skeleton)
            if self.asked is not None:
                write_options(stage.path / OPTIONS, describe_options(*self.asked, folder), skeleton.fit_id)
            if self.field is not None:
                from .io.field_file import write_field

                write_field(stage.path / FIELD, self.field)
            for name, data in (beside or {}).items():
                (stage.path / name).write_bytes(data)
                stage.given.add(name)
            if export:
                from .io.exports.export import check_scene, write_formats

                scene = load(stage.path).scene()
                written = write_formats(scene, check_scene(scene, export, "figure"), stage.path, "figure")
                skeleton = _add_findings(skeleton, written.findings)
                write_skeleton(stage.path / SKELETON, skeleton)
            if report:
                from .report.page import render_page

                (stage.path / REPORT).write_bytes(render_page(stage.path))
        skeleton = _add_findings(skeleton, stage.findings)
        return replace(self, skeleton=skeleton, folder=Path(folder), files=stage.written)

    def export(
        self,
        formats: str,
        folder: FilePath | None = None,
        *,
        name: str = "figure",
        motion: Literal["ik", "play"] = "ik",
        names: Names = "anatomy",
        up: str | None = None,
        body_mass: float | None = None,
    ) -> Written:
        """The figure in motion in every format ("bvh,glb"), as files called `name`; see `scene` for the others.

        folder     where; by default the folder of the fit
        body_mass  [kg] of the person, which the segments share in MJCF, URDF and OpenSim; None: shapes of water
        """
        from .io.exports.export import write_figure

        scene = replace(self.scene(motion, names, up), body_mass=body_mass)
        return write_figure(scene, formats, self._folder(folder), name)

    def report(
        self, out: FilePath | None = None, *, figures: Literal["png", "svg", "pdf"] | None = None
    ) -> tuple[Path, ...]:
        """Writes the page of the fit, or with `figures` the paper's figures, and returns their files.

        out  the page, or the folder of the figures; by default report.html, or figures, in the folder of the fit
        """
        if self.folder is None:
            place = self._folder(out)
            with tempfile.TemporaryDirectory() as scratch:
                return self.save(Path(scratch) / "fit", report=False).report(place, figures=figures)
        if figures is not None:
            from .report.figures import write_figures

            return tuple(write_figures(self.folder, None if out is None else Path(out), figures))
        from .report.page import write_page

        return (write_page(self.folder, None if out is None else Path(out)),)

    def retarget(self, lengths: Lengths) -> Fit:
        """The motion on a figure with other limb lengths: see `retarget_motion`. Its poses are those of that figure."""
        from .io.skeleton_file import to_json
        from .motion.retarget import retarget_motion
        from .result.verdict import add_verdict

        before = self.skeleton
        skeleton, motion = retarget_motion(before, self.motion, lengths)
        skeleton = add_verdict(replace(skeleton, fit_id=make_fit_id(to_json(before), to_json(skeleton))))
        poses = forward(skeleton, motion)
        known = poses.seen[:, [poses.index(joint.child) for joint in skeleton.joints]]
        gap = np.where(known[..., None], 0.0, np.nan) * np.ones(3)
        return Fit(skeleton, _InMemory(skeleton, poses, gap, known.astype(np.float64), motion))

    def retarget_to_rig(self, rig: FilePath, bones: FilePath | Mapping[str, str] | None = None) -> RigMotion:
        """The motion on a rig that is given as BVH or GLB, whose feet stand where they stood; its `write` writes it.

        bones  a map.toml or {bone of the rig: body} where names do not tell which bone moves as which body
        """
        from .io.rigs.read_rig import read_bone_map, read_rig
        from .motion.retarget_rig import retarget_to_rig

        if bones is not None and not isinstance(bones, Mapping):
            bones = read_bone_map(check_path(bones, "a map of bones"))
        return retarget_to_rig(self.scene().figure, read_rig(check_path(rig, "a rig")), bones)

    def use_profile(self, profile: FilePath | Profile) -> Fit:
        """The fit with what is known of its performer as a prior on lengths; a finding says how much that mattered."""
        from .io.skeleton_file import to_json
        from .motion.known import measure_gaps
        from .result.profile import apply_profile

        skeleton = apply_profile(self.skeleton, _open_profile(profile))
        gap, weight, joints = measure_gaps(skeleton, self.take, self.weight)
        skeleton = replace(skeleton, joints=joints, fit_id=make_fit_id(to_json(self.skeleton), to_json(skeleton)))
        frames = _InMemory(skeleton, self.take, gap, weight)
        return replace(self, skeleton=skeleton, frames=frames, folder=None, files=())

    def _folder(self, given: FilePath | None) -> Path:
        if given is None and self.folder is None:
            raise UsageError("the fit is in no folder yet; save it, or name one", code="bad-call")
        return check_path(given, "a folder") if given is not None else self.folder or Path()

    def plot_gaps(self, joints: Sequence[str] = ()) -> Any:
        """A matplotlib Figure: how far every joint, or that of these children, comes apart over time [mm]."""
        from .report.notebook import plot_gaps

        return plot_gaps(self.skeleton, self.take, self.gap, joints)

    def plot_lengths(self) -> Any:
        """A matplotlib Figure: limb lengths with their intervals."""
        from .report.notebook import plot_lengths

        return plot_lengths(self.skeleton)

    def plot_tree(self) -> Any:
        """A matplotlib Figure: the tree, with edges in question."""
        from .report.notebook import plot_tree

        return plot_tree(self.skeleton)

    def plot_angles(self, convention: str = "isb", **options: Any) -> Any:
        """A matplotlib Figure: joint angles over time; `options`: see `angles`."""
        from .report.angles import plot_angles
        from .report.notebook import show_picture

        return show_picture(plot_angles(self.angles(convention, **options)))

    def page(self, height: int = 720) -> Any:
        """The page of the fit as a frame in a notebook, so many pixels high."""
        from .report.notebook import PageFrame

        with tempfile.TemporaryDirectory() as scratch:
            (file,) = self.report(Path(scratch) / REPORT)
            return PageFrame(file.read_text(encoding="utf-8"), height)

    def _repr_html_(self) -> str:
        from .report.notebook import render_fit

        played = None if isinstance(self.frames, _NoFrames) else forward(self.skeleton, self.motion)
        return render_fit(self.skeleton, played)

    def __str__(self) -> str:
        return str(self.skeleton)


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
    plan        "default": all joints together, corrected and robust; "least-squares": the paper's; "drift": for sensors
                that drift
    tree        known edges, all or some: pairs (parent, child), or {child: parent}; "file": those that the recording
                brings along
    root        name of the root; None: the graph centre, calmest first
    loops       pairs known to close a loop; located like joints
    world       add the room as a fixed body `world`
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
    own_tree = isinstance(tree, str) and tree == "file"
    edges = [(p, c) for c, p in tree.items() if p is not None] if isinstance(tree, Mapping) else tree
    options = FitOptions(
        method=plan,
        tree_score=tree_score,
        tree=() if own_tree else check_pairs(edges, "tree"),  # type: ignore[arg-type]
        root=root,
        loops=check_pairs(loops, "loops"),
        world=world,
        intervals=intervals,
        prepare=prepare,
        fix=fix,  # type: ignore[arg-type]
        no_fix=no_fix,  # type: ignore[arg-type]
        symmetric=symmetric,
        scale=factor_of(scale),
        belong=belong,
        kinds=tuple(kinds),
        field=field,
        register=register,
    )
    return fit_with(source, options, _name_reading(fit, reading), own_tree=own_tree)


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
    from .pipeline import run

    source = list(source) if isinstance(source, Iterator) else source
    reading = replace(reading or ReadOptions(), fix=("swaps",) if options.fixes("swaps") else ())
    with limit_threads():
        take = _load(source, reading)
        begin_step("looking over the take")
        if own_tree:
            if take.own is None:
                raise UsageError("the recording brings no hierarchy along; name the edges", code="bad-tree")
            options = replace(options, tree=take.own.edges(take.names))
        if performer is not None:
            from .motion.known import leave_others
            from .result.profile import cut_profile, find_known_kinds, kinds_of

            take = leave_others(take, performer.bodies)
            part = cut_profile(performer, take.names)
            options = replace(options, tree=part.edges, kinds=find_known_kinds(kinds_of([part])))
        if tell is not None and take.bodies > QUICK_MAX_BODIES:
            tell(f"{take.bodies} bodies take minutes, by the cube of their number; --only fits some of them")
        digest = hash_input(take)
        result = run(take, options)
    fit_id = make_fit_id(digest.encode(), __version__.encode(), pack_options(options, reading))
    known = {**result.skeleton.take, "sha256": digest}
    if windows := list_windows(_list_sources(source, take.names), reading):
        known["windows"] = windows
    skeleton = replace(result.skeleton, fit_id=fit_id, take=known)
    frames = _InMemory(skeleton, result.take, result.gap, result.weight)
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
        from .io.profile_file import PROFILE, write_profile

        names = _name_folders([Path(one.provenance.sources[0]).stem or "fit" for one in self.fits])
        fits = [
            one.save(Path(folder) / name, report=report, export=export)
            for one, name in zip(self.fits, names, strict=True)
        ]
        write_profile(Path(folder) / PROFILE, self.profile)
        return replace(self, fits=tuple(fits))


def _name_folders(stems: Sequence[str]) -> list[str]:
    """The names, with a number behind those that stand twice."""
    return [f"{stem}-{stems[:k].count(stem) + 1}" if stems.count(stem) > 1 else stem for k, stem in enumerate(stems)]


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
    from .io.skeleton_file import to_json
    from .motion.known import measure_gaps
    from .result.mountings import share_figures
    from .result.profile import find_known_kinds, kinds_of

    if isinstance(sources, str | os.PathLike) or len(sources) < 2:
        raise UsageError("several mountings are several files, one each; name two or more", code="bad-call")
    _check_files([one for one in sources if not isinstance(one, Take)])
    options = options or FitOptions()
    if not options.intervals:
        raise UsageError("lengths of several mountings are weighed by their intervals; fit with them", code="bad-call")
    fits = [fit_with(source, options, reading) for source in sources]
    best = max(fits, key=lambda one: min((joint.support or 0.0 for joint in one.skeleton.joints), default=0.0))
    tree = tuple((joint.parent, joint.child) for joint in best.skeleton.joints)
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
        found.append(replace(one, skeleton=held, frames=_InMemory(held, one.take, gap, weight)))
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
        from .result.profile import cut_profile, describe_bare, make_profile

        known_as = make_profile([_open_calibration(skeleton).skeleton])[0] if skeleton is not None else profile
        performer = _open_profile(known_as)  # type: ignore[arg-type]
        asked = FitOptions(prepare=prepare, fix=fix, no_fix=no_fix, scale=factor_of(scale or 1.0))  # type: ignore[arg-type]
        fitted = fit_with(source, asked, _name_reading(solve, reading), performer=performer)
        bodies = fitted.skeleton.bodies
        found = fitted.use_profile(cut_profile(performer, bodies))
        return replace(found, skeleton=_add_findings(found.skeleton, describe_bare(performer, bodies)))
    calibration = _open_calibration(skeleton)
    known, model = calibration.skeleton, calibration.field if field else None
    factor = (
        known.scale / (calibration.field.scale if calibration.field else 1.0) if scale is None else factor_of(scale)
    )
    options = FitOptions(
        tree=tuple((joint.parent, joint.child) for joint in known.joints),
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
    from .io.skeleton_file import to_json
    from .model.motion import reference_rotations
    from .motion.ik import add_turns
    from .motion.known import Matched, falls_apart, join_matched, match_sensors, name_findings, play_known, split_files
    from .pipeline import PLAN_OF, prepare_take

    known = calibration.skeleton
    reading = replace(reading, fix=("swaps",) if options.fixes("swaps") else ())
    with limit_threads():
        takes = [match_sensors(known, *part) for part in _load_parts(source, known, reading)]
        matched = join_matched(takes)
        take, turns = matched.take, matched.turns
        digest = hash_input(take if turns is None else add_turns(take, turns))
        asked = replace(options, world=False, belong=False)
        # Delays show at joints of two sensors alone.
        if asked.fixes("latency") and "latency" not in asked.fix and falls_apart(known, take.seen):
            asked = replace(asked, no_fix=(*asked.no_fix, "latency"))
        files = []
        for part in split_files(matched):  # each by itself: one of another person tells nothing of the others
            ready, _, findings, _ = prepare_take(part.take, asked, PLAN_OF["default"])
            own = part.turns
            if own is not None and ready.frames < part.take.frames:  # rows that repeat whole were dropped
                when, kept = (one.segment + 1j * one.time for one in (part.take, ready))
                own = own[np.isin(when, kept)]
            files.append(Matched(ready.with_findings(findings), own))
        joined = join_matched(name_findings(files))
        ready = joined.take.with_findings((*take.findings, *joined.take.findings))
        reference = None
        if not isinstance(calibration.frames, _NoFrames):
            reference = reference_rotations(known, calibration.motion)
        played = play_known(known, ready, reference=reference, turns=joined.turns)
    fit_id = make_fit_id(digest.encode(), __version__.encode(), to_json(known), pack_options(options, reading))
    skeleton = replace(played.skeleton, fit_id=fit_id, take={**played.skeleton.take, "sha256": digest})
    frames = _InMemory(skeleton, played.take, played.gap, played.weight, played.motion)
    return Fit(skeleton, frames, options.field if isinstance(options.field, FieldModel) else None)


def _load_parts(source: Recorded, known: Skeleton, reading: ReadOptions) -> list[tuple[Take, Floats | None]]:
    """The takes in files, and the rotations without a position: one take where all files have the same sensors.

    The convention is that of the calibration where the files say the same; else the motion is asked, as in a fit.
    """
    from .model.scale import scale_markers
    from .prepare.read import load as load_files
    from .prepare.read import read_turns

    if isinstance(source, Take | np.ndarray | Mapping):
        return [(_load(source, reading), None)]
    markers = scale_markers(known.markers, 1 / known.scale)  # as recorded
    groups = [_check_files(source)]
    as_said = replace(reading, doctor=bool(reading.doctor))
    try:
        loaded = [load_files(groups[0], as_said, markers)]
    except CondyleError as error:
        if error.code != "bodies-differ":
            raise
        groups = [[file] for file in groups[0]]
        loaded = [load_files(group, as_said, markers) for group in groups]
    if reading.doctor is None and any(one.take.read_as != known.conventions.get("read_as") for one in loaded):
        loaded = [load_files(group, reading, markers) for group in groups]
    return [(one.take, read_turns(one)) for one in loaded]


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
        return Fit(given, _NoFrames())
    from .io.folder import find_folder
    from .io.skeleton_file import read_skeleton

    place = Path(given)
    skeleton = read_skeleton(place)
    return load(place) if (find_folder(place) / MOTION).is_file() else Fit(skeleton, _NoFrames())


def _find_reading(calibration: Fit) -> dict[str, Any]:
    """How the files of a calibration were read, as far as it was said; the part that was read is its own."""
    if calibration.asked is not None:
        asked = calibration.asked[1]
        given = {name: getattr(asked, name) for name in asked.given}
    else:
        place = None if calibration.folder is None else calibration.folder / OPTIONS
        given = read_options(place)[1] if place is not None and place.is_file() else {}
    return {name: value for name, value in given.items() if name not in ("fix", "start", "stop", "only", "drop")}


def _open_profile(given: FilePath | Profile) -> Profile:
    from .io.profile_file import read_profile
    from .model.profile import Profile

    return given if isinstance(given, Profile) else read_profile(Path(given))


def open_figures(places: Sequence[FilePath]) -> list[Skeleton | Profile]:
    """The skeletons in folders, and the profiles in files."""
    from .io.profile_file import PROFILE, read_profile
    from .io.skeleton_file import read_skeleton

    found: list[Skeleton | Profile] = []
    for place in map(Path, places):
        beside = place / PROFILE
        if place.is_dir() and not (place / SKELETON).exists() and beside.is_file():
            place = beside
        skeleton = place.is_dir() or place.name == SKELETON
        found.append(read_skeleton(place) if skeleton else read_profile(place))
    return found


def load(place: FilePath) -> Fit:
    """The fit in a folder, given as the folder or as the skeleton.json in it.

    Raises CondyleError where a file is missing, damaged, or of another fit (`files-disagree`).
    """
    from .io.field_file import read_field
    from .io.folder import find_folder
    from .io.motion_file import open_motion
    from .io.skeleton_file import read_skeleton

    folder = find_folder(check_path(place, "a fit"))
    for last in (False, True):  # a writer may have moved a new fit in between the two files
        skeleton = read_skeleton(Path(place))
        try:
            motion = open_motion(folder, skeleton)
            break
        except CondyleError as error:
            if last or error.code != "files-disagree":
                raise
    field = read_field(folder / FIELD) if (folder / FIELD).is_file() else None
    return Fit(skeleton, motion, field, None, folder)


def _load(source: Recorded, reading: ReadOptions) -> Take:
    from .prepare.read import load as load_files

    if isinstance(source, Take | np.ndarray):
        others = [name for name in reading.given if name not in ("rate", "fix")]
        if others or (reading.rate is not None and isinstance(source, Take)):
            raise UsageError(
                f"'{(others or ['rate'])[0]}' is for files, and the poses are given", code="option-not-used"
            )
        return source if isinstance(source, Take) else Take.from_matrices(source, rate=reading.rate)
    if isinstance(source, Mapping):
        from .prepare.together import place_together

        _check_files(list(source.values()))
        return place_together({label: load_files([file], reading).take for label, file in source.items()})
    return load_files(_check_files(source), reading).take


def _list_sources(source: Recorded, names: Sequence[str]) -> list[tuple[FilePath, Sequence[str]]]:
    """The files that are given, and which of the bodies are from each; none where poses are given."""
    if isinstance(source, Take | np.ndarray):
        return []
    if isinstance(source, Mapping):
        return [
            (file, [name.removeprefix(f"{label}:") for name in names if name.startswith(f"{label}:")])
            for label, file in source.items()
        ]
    return [(file, names) for file in ([source] if isinstance(source, str | os.PathLike) else source)]


def _check_files(source: FilePath | Sequence[FilePath]) -> list[FilePath]:
    """The files that are meant; raises where one is named twice, or is a copy of another."""
    if not isinstance(source, str | os.PathLike | Iterable):
        fault = f"a recording is a file, several files, {{label: file}}, a Take or matrices, not {source!r}"
        raise UsageError(fault, code="bad-call")
    given = [source] if isinstance(source, str | os.PathLike) else list(source)
    files = [check_path(one, "a recording") for one in given]
    twice = [file for k, file in enumerate(files) if file.resolve() in {one.resolve() for one in files[:k]}]
    if twice:
        raise UsageError("is named twice; its frames would count double", code="same-file-twice", path=twice[0])
    by_size: dict[int, list[Path]] = {}  # only files of one size are read
    for file in filter(Path.is_file, files):
        alike = by_size.setdefault(file.stat().st_size, [])
        for other in alike:
            if cmp(file, other, shallow=False):
                text = f"has the same content as {other}; its frames would count double"
                raise UsageError(text, code="same-file-twice", path=file)
        alike.append(file)
    return given


def _add_findings(skeleton: Skeleton, findings: Sequence[Finding]) -> Skeleton:
    from .result.verdict import add_verdict

    if not findings:
        return skeleton
    return add_verdict(replace(skeleton, findings=sort_findings([*skeleton.findings, *findings])))
