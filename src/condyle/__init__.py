"""condyle: the articulated figure inside a recording of positions and orientations.

import condyle
take = condyle.read("take.npz")
calibration = condyle.calibrate(take)
print(calibration.skeleton.limb("l_thigh"))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import rotation, simulate
    from .errors import CondyleError, UsageError
    from .findings import CODES, Finding
    from .joints import PairFits, fit_pairs
    from .loading import read
    from .options import Options
    from .pipeline import Calibration, calibrate
    from .skeleton import Joint, Limb, Placement, Skeleton
    from .skeleton_file import read_skeleton, write_skeleton
    from .sums import PairSums, sum_pairs
    from .take import Take, join
    from .writers import write_take

_HOME = {
    "CODES": "findings",
    "Calibration": "pipeline",
    "CondyleError": "errors",
    "Finding": "findings",
    "Joint": "skeleton",
    "Limb": "skeleton",
    "Options": "options",
    "PairFits": "joints",
    "PairSums": "sums",
    "Placement": "skeleton",
    "Skeleton": "skeleton",
    "Take": "take",
    "UsageError": "errors",
    "calibrate": "pipeline",
    "fit_pairs": "joints",
    "join": "take",
    "read": "loading",
    "read_skeleton": "skeleton_file",
    "rotation": "",
    "simulate": "",
    "sum_pairs": "sums",
    "write_skeleton": "skeleton_file",
    "write_take": "writers",
}
__all__ = [  # noqa: RUF022  (in the order in which a reader meets them)
    "Take", "read", "join", "calibrate", "Calibration", "Options", "Skeleton", "Joint", "Limb", "Placement",
    "Finding", "CODES", "CondyleError", "UsageError", "read_skeleton", "write_skeleton", "write_take",
    "PairSums", "PairFits", "sum_pairs", "fit_pairs", "rotation", "simulate", "__version__",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # Names are fetched when they are used, so that `condyle --help` does not wait for numpy.
    if name not in _HOME:
        raise AttributeError(f"module 'condyle' has no attribute '{name}'")
    home = _HOME[name]
    value = getattr(import_module(f".{home}", __name__), name) if home else import_module(f".{name}", __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
