"""Tables of a machine's axes as the page shows them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..errors import CondyleError
from ..model.axes import AxisChain, AxisRow, Measured
from ..model.chains import find_chains, has_chains
from ..model.skeleton import Skeleton
from ..model.take import Take
from .page_data import PageAxis, PageChain, PageMeasured

if TYPE_CHECKING:
    from .shown import MotionPieces

CHAIN_SHOWN_FRAMES = 3_000  # frames at most that the zero and the ranges are told from


def show_chains(skeleton: Skeleton, shown: MotionPieces) -> tuple[PageChain, ...]:
    """The chains in which two axes or more follow each other; none where there is no machine."""
    if not len(shown.rows) or not has_chains(skeleton):
        return ()
    rows = shown.rows[:: math.ceil(len(shown.rows) / CHAIN_SHOWN_FRAMES)]
    held = shown.source.rows(rows)
    take = Take(skeleton.bodies, shown.source.time[rows], held.R, held.p, shown.source.segment[rows])
    try:
        chains = find_chains(skeleton, take)
    except CondyleError:  # no frame has all bodies of a chain; the page can be shown all the same
        return ()
    place = {name: k for k, name in enumerate(skeleton.bodies)}
    return tuple(_show_chain(chain, place) for chain in chains if len(chain.rows) > 1)


def _show_chain(chain: AxisChain, place: dict[str, int]) -> PageChain:
    played = None
    if chain.played_m is not None and chain.played_rad is not None:
        played = chain.played_m, chain.played_rad
    return PageChain(
        place[chain.base],
        place[chain.tool],
        chain.T_world_base is not None,
        chain.zero_time,
        played,
        tuple(_show_row(row, place) for row in chain.rows),
        tuple(map(tuple, chain.standard.tolist())),
        tuple(map(tuple, chain.screws.tolist())),
    )


def _show_row(row: AxisRow, place: dict[str, int]) -> PageAxis:
    return PageAxis(
        place.get(row.outer, place[row.joint]),  # between the axes of a universal joint there is no body
        row.kind,
        row.lie,
        None if row.distance is None else _show(row.distance),
        None if row.angle is None else _show(row.angle),
        _show(row.offset),
        _show(row.theta),
        row.low,
        row.high,
    )


def _show(one: Measured) -> PageMeasured:
    return PageMeasured(one.value, one.half_width, one.free)
