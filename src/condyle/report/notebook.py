"""A fit in a notebook: a small figure beside its tables, plots, and the page as a frame."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ..errors import UsageError
from ..model.html import INK_COLOUR, MARK_COLOUR, beside, draw_points, render_facts, render_skeleton
from ..model.skeleton import Skeleton
from ..model.take import Take
from ..model.values import dataclass
from .drawing import draw_lengths, draw_tree, shorten_name, styled
from .model import choose_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..maths.arrays import Floats

NOTEBOOK_DOTS_PER_IN = 110
NOTEBOOK_PANEL_HEIGHT_IN = 0.9  # of one joint in the plot of all gaps


@dataclass(frozen=True)
class PageFrame:
    """A page inside a notebook."""

    html: str
    height: int = 720

    def _repr_html_(self) -> str:
        page = escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="{self.height}" style="border:0"></iframe>'


def render_fit(skeleton: Skeleton, played: Take | None) -> str:
    """The figure, small, and beside it what a skeleton tells; its tree where no frame has all bodies."""
    shown = None if played is None else choose_frame(skeleton, played)
    if shown is None:
        return render_skeleton(skeleton)
    return beside(draw_points(shown.p_world_joint, shown.links, skeleton.up), render_facts(skeleton))


def show_picture(figure: Figure) -> Figure:
    """The figure with a picture for notebooks, which else show only those that pyplot made."""

    def make_png() -> bytes:
        buffer = io.BytesIO()
        with styled():
            figure.savefig(buffer, format="png", dpi=NOTEBOOK_DOTS_PER_IN)
        return buffer.getvalue()

    figure._repr_png_ = make_png  # type: ignore[attr-defined]
    return figure


def plot_lengths(skeleton: Skeleton) -> Figure:
    """Limb lengths with their intervals."""
    return show_picture(draw_lengths(skeleton.limbs))


def plot_tree(skeleton: Skeleton) -> Figure:
    """The tree; edges in question stand out."""
    asked = () if skeleton.verdict is None else [question.edge[1] for question in skeleton.verdict.in_question]
    return show_picture(draw_tree(skeleton, asked))


def plot_gaps(skeleton: Skeleton, take: Take, gap: Floats, joints: Sequence[str] = ()) -> Figure:
    """How far every joint comes apart over time [mm], all in one figure; slips are drawn in.

    joints  children of the joints to be shown; all of them by default
    """
    known = [joint.child for joint in skeleton.joints]
    if unknown := [name for name in joints if name not in known]:
        raise UsageError(f"no joint of '{unknown[0]}'; there are {', '.join(known)}", code="unknown-body")
    chosen = [k for k, name in enumerate(known) if not joints or name in joints]
    if not chosen:
        raise UsageError("there is no joint whose gap could be drawn", code="bad-call")
    with styled():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 0.6 + NOTEBOOK_PANEL_HEIGHT_IN * len(chosen)), layout="constrained")
        panels = figure.subplots(len(chosen), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for panel, k in zip(panels, chosen, strict=True):
            joint = skeleton.joints[k]
            panel.plot(take.time, 1000 * np.linalg.norm(gap[:, k], axis=1), lw=0.6, color=INK_COLOUR)
            panel.set_ylabel(shorten_name(joint.child), rotation=0, ha="right", fontsize=7)
            for finding in skeleton.findings:
                if finding.code == "slip" and finding.time and {joint.child, joint.parent} & set(finding.bodies):
                    panel.axvline(finding.time[0], color=MARK_COLOUR, lw=1)
        panels[-1].set_xlabel("time [s]")
        figure.suptitle("gap of every joint [mm]", fontsize=9)
    return show_picture(figure)
