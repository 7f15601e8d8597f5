"""What the page of a session shows of a solve: what a report has, but its motion."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from ..errors import CondyleError
from ..io.exports.build_figure import build_figure
from ..io.exports.figure import Figure
from ..maths.arrays import Floats, evenly
from ..model.clock import Clock
from ..model.skeleton import Joint
from ..model.take import Take
from ..motion.play import play
from ..pairs.fits import gaps
from ..report.page import FRAMES_FOR_UP, find_up, show_figure
from ..report.page_data import PageData, to_triple

if TYPE_CHECKING:
    from ..result.assemble import Calibration

LIVE_BOX_PERCENTILES = (1, 99)  # of places: the room that the camera shows


class LivePage(msgspec.Struct, frozen=True):
    """The page of a solve: what a report has but the motion, and where the figure is.

    up         world axis that points up; None where not known
    low, high  [m] the box that holds nearly all places
    """

    page: PageData
    up: str | None
    low: tuple[float, float, float]
    high: tuple[float, float, float]


def show_calibration(found: Calibration, figure: Figure | None) -> LivePage:
    """What the page of a session shows of a solve; figure: its bones."""
    skeleton, take = found.skeleton, found.take
    clock = Clock.of(take.time, take.segment)
    every = (*skeleton.joints, *skeleton.loops)
    page = show_figure(skeleton, clock, take.frames, np.zeros(len(every)), _measure_gaps(take, every))
    low, high = _find_box(take)
    page = msgspec.structs.replace(page, title="live")
    return LivePage(page, find_up(skeleton, lambda: figure), to_triple(low), to_triple(high))


def find_bones(found: Calibration) -> Figure | None:
    """The bones of the figure, at rest; None where there is none to be had."""
    few = found.take.at(evenly(found.take.frames, FRAMES_FOR_UP))
    try:
        return build_figure(found.skeleton, play(found.skeleton, few)).at(slice(0, 1))
    except CondyleError:
        return None


def _measure_gaps(take: Take, joints: Sequence[Joint]) -> Floats:
    """(J, 3) [m] median, 95th percentile and largest gap."""
    if not joints:
        return np.zeros((0, 3))
    pairs = np.array([[take.index(one.child), take.index(one.parent)] for one in joints])
    child, parent = (np.array([getattr(one, side) for one in joints]) for side in ("p_child_joint", "p_parent_joint"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of bodies that are never seen together
        size = np.linalg.norm(gaps(take, pairs, child, parent), axis=2)
        return np.asarray(np.nan_to_num(np.nanpercentile(size, (50, 95, 100), axis=0).T))


def _find_box(take: Take) -> tuple[Floats, Floats]:
    places = take.p_world_body[take.seen]
    if not len(places):
        return np.zeros(3), np.zeros(3)
    low, high = np.percentile(places, LIVE_BOX_PERCENTILES, axis=0)
    return low, high
