"""What playback changed: how far the figure is from what its sensors measured, per body and over time."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..errors import UsageError
from ..findings import Finding
from ..maths import rotation
from ..maths.arrays import Floats, freeze, measure_rms
from ..maths.threads import keep_arithmetic
from ..model.motion import Motion, forward, match_bodies
from ..model.skeleton import Skeleton
from ..model.take import Take
from ..model.values import dataclass


@dataclass(frozen=True, eq=False)
class Departure:
    """How far the figure is from what its sensors measured.

    distance  (n, m) [m]    between the measured and the played origin of each body; NaN where either is not known
    angle     (n, m) [rad]  between the measured and the played axes
    """

    names: tuple[str, ...]
    distance: Annotated[Floats, "n m"]
    angle: Annotated[Floats, "n m"]
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, m=len(self.names))

    @property
    def rms(self) -> tuple[Floats, Floats]:
        """(m,) root mean square distance [m] and angle [rad] of each body; NaN for a body that is never known."""
        return measure_rms(self.distance), measure_rms(self.angle)

    def __str__(self) -> str:
        return self.findings[0].text if self.findings else "no body has both a measured and a played pose"


@keep_arithmetic()
def departure(skeleton: Skeleton, motion: Motion, take: Take) -> Departure:
    """Distance and angle between the measured pose of each body and its pose in the motion, frame by frame."""
    take, played = match_bodies(skeleton, take), forward(skeleton, motion)
    if take.frames != played.frames:
        raise UsageError(
            f"the motion has {motion.frames} frames, the take {take.frames}; give the take it was made from",
            code="bad-shape",
        )
    distance = np.linalg.norm(played.p_world_body - take.p_world_body, axis=-1)
    angle = np.linalg.norm(rotation.between(take.R_world_body, played.R_world_body), axis=-1)
    findings = []
    usual = measure_rms(distance)
    if np.isfinite(usual).any():
        worst = int(np.nanargmax(usual))
        most = float(np.nanmax(distance[:, worst]))
        frame = int(np.nanargmax(distance[:, worst]))
        findings.append(
            Finding(
                "departure",
                "info",
                f"the figure departs most from its sensor at {take.names[worst]}: {usual[worst] * 1000:.3g} mm rms, "
                f"{most * 1000:.3g} mm at frame {frame}",
                (take.names[worst],),
                None,
                float(usual[worst]),
                "m",
                frame,
            )
        )
    return Departure(take.names, distance, angle, tuple(findings))
