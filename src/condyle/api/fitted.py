"""A fit: a skeleton with what it came from, in memory or in a folder, and what can be made of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, Unpack

import numpy as np

from ..errors import CondyleError, UsageError, check_path
from ..findings import Finding, sort_findings
from ..io import FIELD, MOTION, OPTIONS, REPORT, SKELETON
from ..io.fit_id import make_fit_id
from ..io.format import ReadOptions
from ..io.options_file import describe_options, write_options
from ..maths.arrays import Floats
from ..maths.threads import keep_arithmetic
from ..model.field import FieldModel
from ..model.motion import Motion, forward
from ..model.options import FitOptions
from ..model.progress import begin_step
from ..model.skeleton import Skeleton
from ..model.take import Take
from ..model.values import dataclass

if TYPE_CHECKING:  # what writes and exports is imported where that is asked for
    from ..io.angles_file import AngleUnit
    from ..io.exports.registry import Names
    from ..io.exports.scene import Scene, Written
    from ..model.angles import Angles, Landmarks
    from ..model.axes import AxisChain
    from ..model.gait_events import GaitEvent
    from ..model.profile import Profile
    from ..motion.retarget import Lengths
    from ..motion.retarget_rig import RigMotion
    from ..pairs.fits import JointGaps
    from ..pairs.rows import FrameWeights

FilePath = str | os.PathLike[str]


class AngleKeywords(TypedDict, total=False):
    """The options of `Fit.angles` as keywords, for type checkers. Each is described there."""

    take: Take | None
    neutral: str | float | tuple[float, float] | Take
    zero: bool
    heading: str
    landmarks: FilePath | Mapping[str, Landmarks] | None
    keep_locked: bool
    up: str | None


class AxisKeywords(TypedDict, total=False):
    """The options of `Fit.axes` as keywords, for type checkers. Each is described there."""

    base: str | None
    tool: str | None
    zero: float | None
    flip: Iterable[str]


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


class FittedFrames(Protocol):
    """What a fit knows frame by frame, in memory or in a file."""

    def take(self) -> Take: ...
    def motion(self) -> Motion: ...
    @property
    def gap(self) -> Floats: ...
    @property
    def weight(self) -> Floats: ...


@dataclass(frozen=True, eq=False)
class FramesInMemory:
    """Frames of a fit that was just made: gaps, weights and, unless it is known as `moved`, the motion are made when
    they are asked for.
    """

    skeleton: Skeleton
    measured: Take
    gaps: Floats | JointGaps
    weights: Floats | FrameWeights
    moved: Motion | None = None
    turns: Floats | None = None  # (n, m, 3, 3) of sensors whose place was held meanwhile, NaN elsewhere

    @property
    def gap(self) -> Floats:
        return np.asarray(self.gaps)

    @property
    def weight(self) -> Floats:
        return np.asarray(self.weights)

    def take(self) -> Take:
        return self.measured

    def motion(self) -> Motion:
        from ..motion.ik import fit_motion

        if self.moved is not None:
            return self.moved
        return fit_motion(self.skeleton, self.measured, turns=self.turns).motion


class NoFrames:
    """In the place of frames: a skeleton that stands alone has none."""

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
    frames: FittedFrames
    field: FieldModel | None = None
    asked: tuple[FitOptions, ReadOptions] | None = None
    folder: Path | None = None
    files: tuple[Path, ...] = ()

    @cached_property
    @keep_arithmetic()
    def take(self) -> Take:
        """The poses that the joints were fitted to: scaled, repaired and, where asked, straightened."""
        return self.frames.take()

    @cached_property
    @keep_arithmetic()
    def motion(self) -> Motion:
        """The motion of the skeleton nearest to all sensors, by inverse kinematics."""
        return self.frames.motion()

    @cached_property
    @keep_arithmetic()
    def gap(self) -> Floats:
        """(n, J, 3) [m] world vector from the parent's to the child's side of each joint; NaN where not seen."""
        return self.frames.gap

    @cached_property
    @keep_arithmetic()
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

    @keep_arithmetic()
    def scene(self, motion: Literal["ik", "play"] = "ik", names: Names = "anatomy", up: str | None = None) -> Scene:
        """The figure in motion, as it is exported.

        motion  "ik": the motion nearest to all sensors; "play": the measured rotations
        names   "anatomy": bones are called as human segments where body names tell them; "bodies": as the bodies;
                "mixamo", "vrm" and so on: as that rig has it, in its rest pose
        up      axis of the world that points up, to overrule the recording
        """
        from ..io.exports.scene import Scene
        from ..motion.play import play

        moved = play(self.skeleton, self.take) if motion == "play" else self.motion
        return Scene(self.skeleton, moved, self.take, names, up)

    @keep_arithmetic()
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
        from ..io.landmarks_file import read_landmarks
        from ..motion.angles import AngleOptions, find_joint_angles, hide_outliers

        points = read_landmarks(landmarks) if isinstance(landmarks, str | os.PathLike) else landmarks
        options = AngleOptions(convention, neutral, zero, heading, points, keep_locked, up)
        if take is None or take is self.take:
            take = hide_outliers(self.skeleton, self.place_turned(), self.weight)
        return find_joint_angles(self.skeleton, take, options)

    @keep_arithmetic()
    def place_turned(self) -> Take:
        """The poses of a solved take, where sensors that report no position are as they were played."""
        from ..motion.known import place_turned

        return place_turned(self.skeleton, self.take, self.motion)

    @keep_arithmetic()
    def gait_events(self, take: Take | None = None) -> tuple[GaitEvent, ...]:
        """When feet strike the room and leave it, in the order of time; empty where no foot was worn or makes steps.

        take  another recording of the same sensors, mounted as they were
        """
        from ..motion.gait_events import find_gait_events

        return find_gait_events(self.skeleton, self.take if take is None else take)[0]

    @keep_arithmetic()
    def write_angles(
        self,
        formats: str = "csv",
        folder: FilePath | None = None,
        *,
        name: str = "angles",
        unit: AngleUnit = "deg",
        convention: str = "isb",
        **options: Unpack[AngleKeywords],
    ) -> tuple[Angles, Written]:
        """The angles, and files of them called `name`, by default in the folder of the fit; `options`: see `angles`.

        formats  "csv", "parquet", and "mot" or "sto" (OpenSim: always in a convention of OpenSim, in degrees and
                 without gaps); beside them stand a .json with how the angles were counted, and gait events where there
                 are any
        """
        from ..io.angles_file import parse_angle_formats, write_events_csv, write_mot, write_tables
        from ..io.exports.scene import Written
        from ..io.folder import check_name, stage_files
        from ..motion.gait_events import find_gait_events
        from ..motion.neutral import HEADING_NOT_KNOWN

        chosen, name = parse_angle_formats(formats), check_name(name)
        begin_step("computing the angles")
        angles = self.angles(convention, **options)
        begin_step("looking for gait events")
        events, told = find_gait_events(self.skeleton, options.get("take") or self.take)
        findings = [*angles.findings, *told]
        with stage_files(self._folder(folder), self.skeleton.fit_id) as stage:
            begin_step("writing the angles")
            files = write_tables(stage.path, name, angles, chosen, unit)
            if events:
                files.append(stage.path / f"{name}-events.csv")
                write_events_csv(files[-1], events)
            if storages := [ending for ending in ("mot", "sto") if ending in chosen]:
                own = convention if convention.startswith("opensim") else "opensim"
                # OpenSim has one room for a whole file, and no empty cells.
                if options.get("heading", "auto") == "auto" and angles.heading not in ("travel", HEADING_NOT_KNOWN):
                    options["heading"] = "facing"
                options["keep_locked"] = True
                coordinates = self.angles(own, **options)
                for ending in storages:
                    written, notes = write_mot(stage.path / f"{name}.{ending}", coordinates)
                    files += written
                findings += notes
        return angles, Written(tuple(stage.folder / file.name for file in files), tuple(findings))

    @keep_arithmetic()
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
        from ..model.chains import find_chains

        return find_chains(self.skeleton, self.take, base=base, tool=tool, zero=zero, flip=tuple(flip))

    @keep_arithmetic()
    def write_axes(
        self,
        formats: str = "json,csv",
        folder: FilePath | None = None,
        *,
        name: str = "axes",
        **options: Unpack[AxisKeywords],
    ) -> tuple[Path, ...]:
        """Files of the tables called `name`, by default in the folder of the fit; `options`: see `axes`."""
        from ..io.axes_file import AXES_FORMATS, write_axes
        from ..io.exports.registry import choose_formats
        from ..io.folder import check_name, stage_files

        chosen, chains, name = choose_formats(formats, AXES_FORMATS, "axes"), self.axes(**options), check_name(name)
        with stage_files(self._folder(folder), self.skeleton.fit_id) as stage:
            files = write_axes(stage.path, name, chains, chosen, self.skeleton.fit_id)
        return tuple(stage.folder / file.name for file in files)

    @keep_arithmetic()
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
        from ..io.exports.take_npz import write_motion_npz
        from ..io.folder import check_name, stage_files
        from ..io.skeleton_file import to_json, write_skeleton

        told = [finding for finding in self.motion.findings if finding.code.startswith("gap-")]
        skeleton = add_findings(self.skeleton, told)
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
                from ..io.field_file import write_field

                write_field(stage.path / FIELD, self.field)
            for name, data in (beside or {}).items():
                (stage.path / check_name(name)).write_bytes(data)
                stage.given.add(name)
            if export:
                from ..io.exports.export import check_scene, write_formats

                scene = load(stage.path).scene()
                written = write_formats(scene, check_scene(scene, export, "figure"), stage.path, "figure")
                skeleton = add_findings(skeleton, written.findings)
                write_skeleton(stage.path / SKELETON, skeleton)
            if report:
                from ..report.page import render_page

                (stage.path / REPORT).write_bytes(render_page(stage.path, skeleton))
        skeleton = add_findings(skeleton, stage.findings)
        return replace(self, skeleton=skeleton, folder=Path(folder), files=stage.written)

    @keep_arithmetic()
    def export(
        self,
        formats: str | Sequence[str],
        folder: FilePath | None = None,
        *,
        name: str = "figure",
        motion: Literal["ik", "play"] = "ik",
        names: Names = "anatomy",
        up: str | None = None,
        body_mass: float | None = None,
    ) -> Written:
        """The figure in motion in every format, "bvh,glb" or ["bvh", "glb"], as files called `name`; see `scene` for
        the others.

        folder     where; by default the folder of the fit
        body_mass  [kg] of the person, which the segments share in MJCF, URDF and OpenSim; None: shapes of water
        """
        from ..io.exports.export import write_figure

        begin_step("making the figure")
        scene = replace(self.scene(motion, names, up), body_mass=body_mass)
        return write_figure(scene, formats, self._folder(folder), name)

    @keep_arithmetic()
    def report(
        self, out: FilePath | None = None, *, figures: Literal["png", "svg", "pdf"] | None = None
    ) -> tuple[Path, ...]:
        """Writes the page of the fit, or with `figures` the paper's figures, and returns their files.

        out  the page, or the folder of the figures; by default report.html, or figures, in the folder of the fit
        """
        if self.folder is None:
            from tempfile import TemporaryDirectory

            place = self._folder(out)
            with TemporaryDirectory() as scratch:
                return self.save(Path(scratch) / "fit", report=False).report(place, figures=figures)
        if figures is not None:
            from ..report.figures import write_figures

            return tuple(write_figures(self.folder, None if out is None else Path(out), figures))
        from ..report.page import write_page

        return (write_page(self.folder, None if out is None else Path(out)),)

    @keep_arithmetic()
    def retarget(self, lengths: Lengths) -> Fit:
        """The motion on a figure with other limb lengths: see `retarget_motion`. Its poses are those of that figure."""
        from ..io.skeleton_file import to_json
        from ..motion.retarget import retarget_motion
        from ..result.verdict import add_verdict

        before = self.skeleton
        begin_step("changing the lengths")
        skeleton, motion = retarget_motion(before, self.motion, lengths)
        skeleton = add_verdict(replace(skeleton, fit_id=make_fit_id(to_json(before), to_json(skeleton))))
        poses = forward(skeleton, motion)
        known = poses.seen[:, [poses.index(joint.child) for joint in skeleton.joints]]
        gap = np.where(known[..., None], 0.0, np.nan) * np.ones(3)
        return Fit(skeleton, FramesInMemory(skeleton, poses, gap, known.astype(np.float64), motion))

    @keep_arithmetic()
    def retarget_to_rig(self, rig: FilePath, bones: FilePath | Mapping[str, str] | None = None) -> RigMotion:
        """The motion on a rig that is given as BVH or GLB, whose feet stand where they stood; its `write` writes it.

        bones  a map.toml or {bone of the rig: body} where names do not tell which bone moves as which body
        """
        from ..io.rigs.read_rig import read_bone_map, read_rig
        from ..motion.retarget_rig import retarget_to_rig

        if bones is not None and not isinstance(bones, Mapping):
            bones = read_bone_map(check_path(bones, "a map of bones"))
        return retarget_to_rig(self.scene().figure, read_rig(check_path(rig, "a rig")), bones)

    @keep_arithmetic()
    def use_profile(self, profile: FilePath | Profile) -> Fit:
        """The fit with what is known of its performer as a prior on lengths; a finding says how much that mattered."""
        from ..io.skeleton_file import to_json
        from ..motion.known import measure_gaps
        from ..result.profile import apply_profile

        skeleton = apply_profile(self.skeleton, open_profile(profile))
        gap, weight, joints = measure_gaps(skeleton, self.take, self.weight)
        skeleton = replace(skeleton, joints=joints, fit_id=make_fit_id(to_json(self.skeleton), to_json(skeleton)))
        return change_figure(self, skeleton, gap, weight)

    def _folder(self, given: FilePath | None) -> Path:
        if given is None and self.folder is None:
            raise UsageError("the fit is in no folder yet; save it, or name one", code="bad-call")
        return check_path(given, "a folder") if given is not None else self.folder or Path()

    @keep_arithmetic()
    def plot_gaps(self, joints: Sequence[str] = ()) -> Any:
        """A matplotlib Figure: how far every joint, or that of these children, comes apart over time [mm]."""
        from ..report.notebook import plot_gaps

        return plot_gaps(self.skeleton, self.take, self.gap, joints)

    @keep_arithmetic()
    def plot_lengths(self) -> Any:
        """A matplotlib Figure: limb lengths with their intervals."""
        from ..report.notebook import plot_lengths

        return plot_lengths(self.skeleton)

    @keep_arithmetic()
    def plot_tree(self) -> Any:
        """A matplotlib Figure: the tree, with edges in question."""
        from ..report.notebook import plot_tree

        return plot_tree(self.skeleton)

    @keep_arithmetic()
    def plot_angles(self, convention: str = "isb", **options: Unpack[AngleKeywords]) -> Any:
        """A matplotlib Figure: joint angles over time; `options`: see `angles`."""
        from ..report.angles import plot_angles
        from ..report.notebook import show_picture

        return show_picture(plot_angles(self.angles(convention, **options)))

    @keep_arithmetic()
    def page(self, height: int = 720) -> Any:
        """The page of the fit as a frame in a notebook, so many pixels high."""
        from tempfile import TemporaryDirectory

        from ..report.notebook import PageFrame

        with TemporaryDirectory() as scratch:
            (file,) = self.report(Path(scratch) / REPORT)
            return PageFrame(file.read_text(encoding="utf-8"), height)

    @keep_arithmetic()
    def _repr_html_(self) -> str:
        from ..report.notebook import render_fit

        played = None if isinstance(self.frames, NoFrames) else forward(self.skeleton, self.motion)
        return render_fit(self.skeleton, played)

    def __str__(self) -> str:
        return str(self.skeleton)


@keep_arithmetic()
def load(place: FilePath) -> Fit:
    """The fit in a folder, given as the folder or as the skeleton.json in it.

    Raises CondyleError where a file is missing, damaged, or of another fit (`files-disagree`).
    """
    from ..io.field_file import read_field
    from ..io.folder import find_folder
    from ..io.motion_file import open_motion
    from ..io.skeleton_file import read_skeleton

    folder = find_folder(check_path(place, "a fit"))
    begin_step(f"reading {folder.name or folder}")
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


def open_profile(given: FilePath | Profile) -> Profile:
    from ..io.profile_file import read_profile
    from ..model.profile import Profile

    return given if isinstance(given, Profile) else read_profile(Path(given))


def add_findings(skeleton: Skeleton, findings: Sequence[Finding]) -> Skeleton:
    from ..result.verdict import add_verdict

    if not findings:
        return skeleton
    return add_verdict(replace(skeleton, findings=sort_findings([*skeleton.findings, *findings])))


def change_figure(fit: Fit, skeleton: Skeleton, gap: Floats, weight: Floats) -> Fit:
    """The fit of the same take with another figure, which leaves these gaps (n, J, 3) [m] and weighs them (n, J)."""
    turns = fit.frames.turns if isinstance(fit.frames, FramesInMemory) else None
    frames = FramesInMemory(skeleton, fit.take, gap, weight, turns=turns)
    return replace(fit, skeleton=skeleton, frames=frames, folder=None, files=())
