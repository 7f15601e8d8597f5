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
    from . import simulate
    from .errors import CondyleError, UsageError
    from .findings import CODES, Finding
    from .io.exports import write_take
    from .io.exports.export import write_figure
    from .io.exports.figure import Figure
    from .io.exports.scene import Scene
    from .io.field_file import read_field, write_field
    from .io.motion_file import read_motion
    from .io.skeleton_file import read_skeleton, write_skeleton
    from .maths import rotation
    from .model.field import FieldModel, Rod
    from .model.motion import Motion, forward, on_axes, reference_rotations
    from .model.options import Options
    from .model.skeleton import Joint, Limb, Placement, Skeleton
    from .model.take import Take, join
    from .motion.departure import Departure, departure
    from .motion.ik import MotionFit, fit_motion, reach_targets
    from .motion.play import play
    from .motion.retarget import retarget_motion
    from .motion.tasks import Target
    from .pairs.fits import PairFits, fit_pairs
    from .pairs.sums import PairSums, sum_pairs
    from .pipeline import Calibration, calibrate
    from .prepare.read import read

_HOME = {
    "CODES": "findings",
    "Calibration": "pipeline",
    "CondyleError": "errors",
    "Departure": "motion.departure",
    "FieldModel": "model.field",
    "Figure": "io.exports.figure",
    "Finding": "findings",
    "Joint": "model.skeleton",
    "Limb": "model.skeleton",
    "Motion": "model.motion",
    "MotionFit": "motion.ik",
    "Options": "model.options",
    "PairFits": "pairs.fits",
    "PairSums": "pairs.sums",
    "Placement": "model.skeleton",
    "Rod": "model.field",
    "Scene": "io.exports.scene",
    "Skeleton": "model.skeleton",
    "Take": "model.take",
    "Target": "motion.tasks",
    "UsageError": "errors",
    "calibrate": "pipeline",
    "departure": "motion.departure",
    "fit_motion": "motion.ik",
    "fit_pairs": "pairs.fits",
    "forward": "model.motion",
    "join": "model.take",
    "on_axes": "model.motion",
    "play": "motion.play",
    "reach_targets": "motion.ik",
    "read": "prepare.read",
    "read_field": "io.field_file",
    "read_motion": "io.motion_file",
    "read_skeleton": "io.skeleton_file",
    "reference_rotations": "model.motion",
    "retarget_motion": "motion.retarget",
    "rotation": "maths/",
    "simulate": "",
    "sum_pairs": "pairs.sums",
    "write_field": "io.field_file",
    "write_figure": "io.exports.export",
    "write_skeleton": "io.skeleton_file",
    "write_take": "io.exports",
}
__all__ = [  # noqa: RUF022  (in the order in which a reader meets them)
    "Take", "read", "join", "calibrate", "Calibration", "Options", "Skeleton", "Joint", "Limb", "Placement",
    "Finding", "CODES", "CondyleError", "UsageError", "read_skeleton", "write_skeleton", "write_take",
    "Motion", "play", "forward", "fit_motion", "MotionFit", "reach_targets", "Target", "departure", "Departure",
    "on_axes", "reference_rotations", "retarget_motion", "read_motion", "Figure", "Scene", "write_figure",
    "FieldModel", "Rod", "read_field", "write_field",
    "PairSums", "PairFits", "sum_pairs", "fit_pairs", "rotation", "simulate", "__version__",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # Names are fetched when they are used, so that `condyle --help` does not wait for numpy.
    if name not in _HOME:
        raise AttributeError(f"module 'condyle' has no attribute '{name}'")
    home = _HOME[name]
    value: Any
    if home.endswith("/") or not home:  # a module
        value = import_module(f".{home.replace('/', '.')}{name}", __name__)
    else:
        value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
