"""The paper's figures of any calibrated folder, as PNG, SVG or PDF. Needs matplotlib.

docs/report.md describes them; `write_figures` is what `condyle report --figures` calls.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from ..errors import CondyleError, UsageError
from ..io.atomic import write_atomic
from ..io.folder import find_folder, stage_files
from ..io.motion_file import MotionFile, open_motion
from ..io.skeleton_file import read_skeleton
from ..model.motion import forward
from ..model.progress import begin_step
from ..motion.angles import hide_outliers
from ..pairs.rigid_pair import measure_pair
from .angles import count_angles, plot_angles
from .drawing import TimeAxis, draw_lengths, draw_series, draw_tree, lay_out_time, shorten_name, styled
from .model import choose_frame, draw_model
from .notebook import plot_gaps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..model.skeleton import Joint, Slip
    from ..model.take import Take

PictureFormat = Literal["svg", "png", "pdf"]
PNG_DOTS_PER_IN = 300  # of a PNG: what journals ask for
PANELS_MAX_JOINTS = 60  # joints whose gaps stand in one figure
_DATED = {"svg": "Date", "png": "Software", "pdf": "CreationDate"}  # what would differ from run to run
DOUBT_CODES = ("rivals",)


def write_figures(folder: str | Path, out: str | Path | None = None, form: PictureFormat = "png") -> list[Path]:
    """Writes the figures of the folder that a fit wrote, given as the folder or as the skeleton.json in it.

    model                the figure in space (paper, figure 5C)
    tree                 the tree with the margin of every edge
    lengths              limb lengths with their intervals
    gaps                 the gaps of all joints over time in one figure, with slips drawn in
    gap-01-NAME, ...     the gap of every joint over time, and its histogram (figures 6 to 8)
    pair-A-B             the distance of two sensors on one rigid body over time (figure 4)
    angles               joint angles over time, left and right, by ISB

    out  the folder for them, made where it is missing; DIR/figures by default. Returns the files in this order. Raises
    CondyleError (missing-extra) without matplotlib, and where motion.npz is missing or not of this fit.
    """
    if form not in get_args(PictureFormat):
        kinds = ", ".join(get_args(PictureFormat))
        raise UsageError(f"no figures in '{form}'; there are {kinds}", code="bad-option")
    with styled():
        pass  # without matplotlib nothing is read
    skeleton = read_skeleton(folder)
    motion = open_motion(folder, skeleton)
    home, below = (find_folder(folder), "figures") if out is None else (Path(out), "")
    names = []
    with stage_files(home, skeleton.fit_id) as stage:
        (stage.path / below).mkdir(exist_ok=True)
        for name, figure in draw_folder(motion):
            begin_step(f"drawing {name}")
            names.append(f"{name}.{form}")
            save_figure(figure, stage.path / below / names[-1])
    return [home / below / name for name in names]


def draw_folder(motion: MotionFile) -> Iterator[tuple[str, Figure]]:
    """(name of the file without its ending, figure) of a folder, one after the other."""
    skeleton, measured = motion.skeleton, motion.take()
    played = forward(skeleton, motion.motion())
    axis = lay_out_time(measured.time if measured.timed else None, measured.segment)
    shown = choose_frame(skeleton, played)
    if shown is not None:
        yield "model", draw_model(shown, skeleton.up)
    doubtful = {name for finding in skeleton.findings if finding.code in DOUBT_CODES for name in finding.bodies}
    yield "tree", draw_tree(skeleton, [joint.child for joint in skeleton.joints if joint.child in doubtful])
    yield "lengths", draw_lengths(skeleton.limbs)
    yield from _gaps(motion, axis)
    yield from _pairs(measured, skeleton.joints, axis)
    begin_step("computing the angles")
    angles = count_angles(skeleton, hide_outliers(skeleton, measured, motion.weight))
    if angles is not None:
        yield "angles", plot_angles(angles)
    if 0 < len(skeleton.joints) <= PANELS_MAX_JOINTS:
        yield "gaps", plot_gaps(skeleton, measured, motion.gap)


def draw_gap(
    axis: TimeAxis,
    gap: np.ndarray,
    weight: np.ndarray,
    child: str,
    parent: str,
    residual: float | None = None,
    slips: Sequence[Slip] = (),
) -> Figure:
    """The length of one joint's gap (n, 3) [m] over time where it counted (n,), its histogram, and the slips."""
    own = [slip for slip in slips if slip.body in (child, parent) and slip.frame < len(axis.at)]
    marks = [(float(axis.at[slip.frame]), f"{slip.body} slipped {1000 * slip.size:.0f} mm") for slip in own]
    size = np.where(weight > 0, np.linalg.norm(gap, axis=1), np.nan)
    seen, kept = np.isfinite(gap).all(axis=1), np.isfinite(size)
    lost = int(seen.sum() - kept.sum())
    level = residual if residual is not None else float(np.sqrt(np.nanmean(size**2))) if kept.any() else None
    return draw_series(
        axis,
        size,
        title=f"{shorten_name(child)} at {shorten_name(parent)}: how far the joint comes apart",
        label="gap [mm]",
        level=level,
        note=("" if level is None else f"rms {1000 * level:.3g} mm") + (f", {lost} left out" if lost else ""),
        marks=marks,
    )


def save_figure(figure: Figure, path: Path) -> None:
    """Writes the figure by the ending of its name, whole or not at all; nothing in the file tells when."""
    buffer = io.BytesIO()
    form = path.suffix[1:].lower()
    with styled(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # a box stands for such a letter
        figure.savefig(buffer, format=form, dpi=PNG_DOTS_PER_IN, metadata={_DATED[form]: None})
    write_atomic(path, buffer.getvalue())


def _gaps(motion: MotionFile, axis: TimeAxis) -> Iterator[tuple[str, Figure]]:
    gap, weight, joints, slips = motion.gap, motion.weight, motion.skeleton.joints, motion.skeleton.slips
    digits = max(len(str(len(joints))), 2)
    for k, joint in enumerate(joints):
        figure = draw_gap(axis, gap[:, k], weight[:, k], joint.child, joint.parent, joint.residual, slips)
        yield f"gap-{k + 1:0{digits}d}-{_file_name(joint.child)}", figure


def _pairs(take: Take, joints: Sequence[Joint], axis: TimeAxis) -> Iterator[tuple[str, Figure]]:
    for joint in joints:
        if joint.kind != "rigid":
            continue
        try:
            pair = measure_pair(take, joint.child, joint.parent)
        except CondyleError:
            continue  # hardly seen together, or in one place: nothing to draw
        figure = draw_series(
            axis,
            pair.distance,
            title=f"{shorten_name(joint.child)} and {shorten_name(joint.parent)}, which are fixed to one another",
            label="distance [mm]",
            level=pair.mean,
            note=f"{1000 * pair.mean:.1f} ± {1000 * pair.sd:.2g} mm",
            zero=False,
        )
        yield f"pair-{_file_name(joint.child)}-{_file_name(joint.parent)}", figure


def _file_name(name: str) -> str:
    """A body's name as part of a file's: names come from files and must not lead elsewhere."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:40] or "_"
