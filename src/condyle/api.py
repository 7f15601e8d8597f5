"""The library is the program: what `condyle` does on the command line is one call here.

fit = condyle.fit("walk.npz")
fit.save("out")
condyle.load("out").export("bvh,glb")
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Unpack

import numpy as np
from numpy.typing import NDArray

from ._version import __version__
from .errors import CondyleError, UsageError
from .findings import Finding, sort_findings
from .io.exports.export import check_scene, write_figure, write_formats
from .io.exports.figure import Names
from .io.exports.scene import Scene, Written
from .io.exports.take_npz import write_motion_npz
from .io.field_file import read_field, write_field
from .io.folder import FIELD, MOTION, OPTIONS, REPORT, SKELETON, find_folder, stage_files
from .io.format import Reading, ReadOptions
from .io.motion_file import open_motion
from .io.options_file import describe_options, write_options
from .io.scale_file import factor_of
from .io.skeleton_file import read_skeleton, to_json, write_skeleton
from .maths.arrays import Floats
from .maths.spool import blocks
from .maths.threads import limit_threads
from .model.field import FieldModel, Rod
from .model.motion import Motion, forward
from .model.options import FitOptions, Method, TreeScore, check_pairs
from .model.scale import Scale
from .model.skeleton import Skeleton
from .model.take import Take

if TYPE_CHECKING:  # a folder is read and exported without what fits it
    from .motion.retarget import Lengths

FilePath = str | os.PathLike[str]
Recorded = FilePath | Sequence[FilePath] | Take | NDArray[Any]  # what a fit is made from
FIT_ID_DIGITS = 16  # hexadecimal, of a SHA-256


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
        names   "anatomy": bones are called as human segments where body names tell them; "bodies": as the bodies
        up      axis of the world that points up, to overrule the recording
        """
        from .motion.play import play

        moved = play(self.skeleton, self.take) if motion == "play" else self.motion
        return Scene(self.skeleton, moved, self.take, names, up)

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
        told = [finding for finding in self.motion.findings if finding.code.startswith("gap-")]
        skeleton = _add_findings(self.skeleton, told)
        if skeleton.fit_id is None:  # of a folder that version 0.1 wrote
            skeleton = replace(skeleton, fit_id=_identify(to_json(skeleton)))
        with stage_files(folder, skeleton.fit_id, replaces=True, kept=map(Path, self.take.sources)) as stage:
            played = forward(skeleton, self.motion)
            write_motion_npz(stage.path / MOTION, self.take, self.gap, self.weight, skeleton, played)
            write_skeleton(stage.path / SKELETON, skeleton)
            if self.asked is not None:
                write_options(stage.path / OPTIONS, describe_options(*self.asked, folder), skeleton.fit_id)
            if self.field is not None:
                write_field(stage.path / FIELD, self.field)
            for name, data in (beside or {}).items():
                (stage.path / name).write_bytes(data)
                stage.given.add(name)
            if export:
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
    ) -> Written:
        """The figure in motion in every format ("bvh,glb"), as files called `name`; see `scene` for the others.

        folder  where; by default the folder of the fit
        """
        return write_figure(self.scene(motion, names, up), formats, self._folder(folder), name)

    def report(self, out: FilePath | None = None, *, figures: Literal["png", "svg"] | None = None) -> tuple[Path, ...]:
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
        from .motion.retarget import retarget_motion
        from .result.verdict import add_verdict

        before = self.skeleton
        skeleton, motion = retarget_motion(before, self.motion, lengths)
        skeleton = add_verdict(replace(skeleton, fit_id=_identify(to_json(before), to_json(skeleton))))
        poses = forward(skeleton, motion)
        known = poses.seen[:, [poses.index(joint.child) for joint in skeleton.joints]]
        gap = np.where(known[..., None], 0.0, np.nan) * np.ones(3)
        return Fit(skeleton, _InMemory(skeleton, poses, gap, known.astype(np.float64), motion))

    def _folder(self, given: FilePath | None) -> Path:
        if given is None and self.folder is None:
            raise UsageError("the fit is in no folder yet; save it, or name one", code="bad-call")
        return Path(given) if given is not None else self.folder or Path()

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
    field: bool | FieldModel | Rod = False,
    **reading: Unpack[Reading],
) -> Fit:
    """The articulated figure inside a recording.

    source      the path of a file, or of several files of the same sensors; a Take; or matrices (n, m, 4, 4) [m]
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
    field       take the bend of the room away: True as the joints tell it, a Rod, or a FieldModel that is known
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
        field=field,
    )
    return fit_with(source, options, ReadOptions.of(**reading), own_tree=own_tree)


def fit_with(
    source: Recorded, options: FitOptions, reading: ReadOptions | None = None, *, own_tree: bool = False
) -> Fit:
    """`fit` with its options as values; own_tree: the tree is the hierarchy that the recording brings along."""
    from .pipeline import run

    reading = replace(reading or ReadOptions(), fix=("swaps",) if options.fixes("swaps") else ())
    with limit_threads():
        take = _load(source, reading)
        if own_tree:
            if take.own is None:
                raise UsageError("the recording brings no hierarchy along; name the edges", code="bad-tree")
            options = replace(options, tree=take.own.edges(take.names))
        digest = _hash_input(take)
        result = run(take, options)
    fit_id = _identify(digest.encode(), __version__.encode(), _pack_options(options, reading))
    known = {**result.skeleton.take, "sha256": digest}
    skeleton = replace(result.skeleton, fit_id=fit_id, take=known)
    frames = _InMemory(skeleton, result.take, result.gap, result.weight)
    return Fit(skeleton, frames, result.field, (options, reading))


def load(place: FilePath) -> Fit:
    """The fit in a folder, given as the folder or as the skeleton.json in it.

    Raises CondyleError where a file is missing, damaged, or of another fit (`files-disagree`).
    """
    folder = find_folder(place)
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

    if isinstance(source, str | os.PathLike):
        return load_files([source], reading).take
    if isinstance(source, Take | np.ndarray):
        others = [name for name in reading.given if name not in ("rate", "fix")]
        if others or (reading.rate is not None and isinstance(source, Take)):
            raise UsageError(
                f"'{(others or ['rate'])[0]}' is for files, and the poses are given", code="option-not-used"
            )
        return source if isinstance(source, Take) else Take.from_matrices(source, rate=reading.rate)
    files = [Path(one) for one in source]
    twice = [file for k, file in enumerate(files) if file.resolve() in {one.resolve() for one in files[:k]}]
    if twice:
        raise UsageError("is named twice; its frames would count double", code="same-file-twice", path=twice[0])
    return load_files(list(source), reading).take


def _add_findings(skeleton: Skeleton, findings: Sequence[Finding]) -> Skeleton:
    from .result.verdict import add_verdict

    if not findings:
        return skeleton
    return add_verdict(replace(skeleton, findings=sort_findings([*skeleton.findings, *findings])))


def _hash_input(take: Take) -> str:
    """SHA-256 of the poses as they were read."""
    digest = hashlib.sha256()
    _add_take(digest, take)
    return digest.hexdigest()


def _add_take(digest: hashlib._Hash, take: Take) -> None:
    facts = [list(take.names), take.timed, take.up, [[one.body, one.name] for one in take.markers]]
    digest.update(json.dumps(facts).encode())
    for array in (take.time, take.segment, take.R_world_body, take.p_world_body):
        for rows in blocks(array):
            digest.update(np.ascontiguousarray(array[rows]).data)


def _pack_options(options: FitOptions, reading: ReadOptions) -> bytes:
    """The options with all that they stand for, as bytes that are the same for the same options."""
    plain: dict[str, Any] = {**options.to_plain(), "reading": describe_options(FitOptions(), reading).get("reading")}
    if reading.columns is not None:
        plain["reading"]["columns"] = hashlib.sha256(Path(reading.columns).read_bytes()).hexdigest()
    if isinstance(options.field, FieldModel):
        plain["field"] = options.field.to_plain()
    elif isinstance(options.field, Rod):
        digest = hashlib.sha256()
        if options.field.take is not None:
            _add_take(digest, options.field.take)
        plain["field"] = [options.field.pair, options.field.distance, digest.hexdigest()]
    return json.dumps(plain, sort_keys=True).encode()


def _identify(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:FIT_ID_DIGITS]
