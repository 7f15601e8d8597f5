"""The scale of a set-up as a value, and a take with its lengths multiplied by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..findings import Finding
from ..maths.spool import over_frames, seal
from .skeleton import SensorNoise
from .take import BodyMarker, Take
from .values import dataclass

LEAST, MOST = 1e-6, 1e6  # factors beyond are no scale but a mistake


@dataclass(frozen=True)
class Scale:
    """What two sensors at a known distance tell of a set-up.

    scale      [-]  true over recorded length: recorded positions are multiplied by it
    pair            the two sensors; distance: the true one [m]; measured: the mean recorded one [m]
    sd         [m]  spread of the recorded distance; white: what the sensors' white noise explains of it
    noise           white noise of the two sensors, in recorded lengths
    frames     [-]  frames it comes from; sources: the files
    low, high  [-]  within which the scale lies with 95 %; None in a file that does not say
    """

    scale: float
    pair: tuple[str, str]
    distance: float
    measured: float
    sd: float
    white: float
    noise: tuple[SensorNoise, ...]
    frames: int
    sources: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None


def scale_take(take: Take, factor: float) -> Take:
    """The take with all lengths multiplied, and a finding that says so; the same object for a factor of one."""
    if factor == 1:
        return take
    text = f"recorded lengths were multiplied by {factor:.6g}, the scale that was given"
    own = None if take.own is None else take.own.with_joints(take.own.p_parent_joint * factor)
    return replace(
        take,
        p_world_body=seal(over_frames(lambda part: part * factor, take.p_world_body)),
        own=own,
        markers=scale_markers(take.markers, factor),
        findings=(*take.findings, Finding("scaled", "info", text, value=factor, unit="1")),
    )


def scale_markers(markers: Sequence[BodyMarker], factor: float) -> tuple[BodyMarker, ...]:
    """Places of markers with all lengths multiplied."""
    return tuple(_scale_marker(marker, factor) for marker in markers)


def _scale_marker(marker: BodyMarker, factor: float) -> BodyMarker:
    own = marker.carried
    if own is not None:
        own = replace(own, p_body_centre=own.p_body_centre * factor, covariance=own.covariance * factor**2)
    return replace(marker, p_body_marker=marker.p_body_marker * factor, carried=own)
