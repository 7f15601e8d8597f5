"""Bodies of which only markers stream: poses from the newest markers, by the shapes that the newest solve knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..maths.arrays import Floats
from ..model.recording import Convention, Markers, Recording, along_axes, length_of, mirror_of
from ..model.take import BodyMarker
from ..prepare.clusters import match_marker
from ..prepare.shapes import Shape, fit_poses

Pose = tuple[Floats, Floats]  # R (3, 3) and p (3,) [m]


def place_markers(names: tuple[str, ...], position: Floats, convention: Convention) -> Floats:
    """(k, 3) [m] of markers as they were sent (k, 3), in the world that a fit of them has."""
    recording = Recording(markers=Markers(names, position[None]), rate=1.0, convention=convention)
    placed = along_axes(position * length_of(recording)[0], convention.axes)
    return placed * mirror_of(convention) if convention.handed == "left" else placed


def pose_bodies(known: Sequence[BodyMarker], names: Sequence[str], p: Floats) -> dict[str, Pose]:
    """Poses of the bodies that markers at p (k, 3) [m] tell; a body with too few of them that are seen has none.

    known  where the markers are on their bodies; a centre that a body above carries comes with that body
    """
    column = {one.name: match_marker(one.name, names) for one in known if one.carried is None}
    found: dict[str, Pose] = {}
    waiting = list(dict.fromkeys(one.body for one in known))
    while waiting:
        carried = {one.body for one in known if one.carried is not None and one.carried.body in waiting}
        ready = [body for body in waiting if body not in carried] or waiting  # all: bodies that carry each other
        for body in ready:
            own = [one for one in known if one.body == body]
            cloud = np.stack([_place(one, column, p, found) for one in own])
            R, place = fit_poses(cloud[None], Shape(np.stack([one.p_body_marker for one in own])))
            if np.isfinite(place).all():
                found[body] = R[0], place[0]
        waiting = [body for body in waiting if body not in ready]
    return found


def _place(one: BodyMarker, column: Mapping[str, int | None], p: Floats, found: Mapping[str, Pose]) -> Floats:
    """(3,) [m] of a marker, or of a centre on the body that carries it; NaN where it is not seen."""
    if one.carried is not None:
        if one.carried.body not in found:
            return np.full(3, np.nan)
        R, place = found[one.carried.body]
        return np.asarray(R @ one.carried.p_body_centre + place)
    k = column[one.name]
    return np.full(3, np.nan) if k is None else p[k]
