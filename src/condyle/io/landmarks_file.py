"""landmarks.toml: markers, or palpated points on a body, that define anatomical frames.

[thigh_l]
lateral = "LKNE"
medial = [0.021, -0.048, 0.115]  # m, in the frame of the body's sensor
"""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import CondyleError
from ..model.angles import Landmarks
from .toml_file import read_toml

LANDMARKS_EXAMPLE = '[thigh_l] and below it lines like lateral = "LKNE" or medial = [0.021, -0.048, 0.115]'


def read_landmarks(path: str | os.PathLike[str]) -> dict[str, Landmarks]:
    """{segment: {landmark: marker, or place (3,) [m] in the body}}; raises CondyleError with the fault."""
    file = Path(path)
    content, _ = read_toml(file, "a list of landmarks", "bad-landmarks", f"; expected {LANDMARKS_EXAMPLE}")
    if not content:
        raise CondyleError(f"names no segment; expected {LANDMARKS_EXAMPLE}", code="bad-landmarks", path=file)
    for segment, points in content.items():
        if not isinstance(points, dict):
            raise CondyleError(
                f"'{segment}' is no table; expected {LANDMARKS_EXAMPLE}", code="bad-landmarks", path=file
            )
        for name, place in points.items():
            numbers = isinstance(place, list) and len(place) == 3 and all(_is_number(one) for one in place)
            if not isinstance(place, str) and not numbers:
                raise CondyleError(
                    f"landmark '{name}' of '{segment}' is a marker's name or three numbers [m]",
                    code="bad-landmarks",
                    path=file,
                )
    return content


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
