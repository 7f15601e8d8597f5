"""mcap:FILE: the figure in motion as transforms of ROS 2 (tf2_msgs/TFMessage) in an MCAP file.

Every body hangs on its parent in the tree, a root on `world`. Messages are not gathered in chunks, so that what was
written is there when the program is killed.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np

from ..errors import CondyleError, import_extra
from ..io.exports.figure import Figure
from ..io.ros_messages import SCHEMAS, Transform, encode_transforms
from ..maths.arrays import Bools
from ..model.skeleton import Skeleton
from .newest import Poses

TOPIC, TF_TYPE, ROOT_FRAME = "/tf", "tf2_msgs/msg/TFMessage", "world"


class McapOutlet:
    """An MCAP file that grows; raises CondyleError where it is there already or cannot be written. One that nothing was
    sent to is not left behind.
    """

    def __init__(self, path: str) -> None:
        mcap = import_extra("mcap.writer", "mcap", "MCAP is written with mcap")
        self.word, self._path = f"mcap:{path}", Path(path)
        try:
            self._stream: IO[bytes] = open(self._path, "xb")  # noqa: SIM115
        except FileExistsError:
            raise CondyleError("is there already; choose another name", code="unwritable", path=path) from None
        except OSError as error:
            raise CondyleError(f"cannot be written: {error.strerror}", code="unwritable", path=path) from None
        self._writer = mcap.Writer(self._stream, compression=mcap.CompressionType.NONE, use_chunking=False)
        self._writer.start(profile="ros2", library="condyle")
        schema = self._writer.register_schema(TF_TYPE, "ros2msg", SCHEMAS[TF_TYPE].encode())
        self._channel = self._writer.register_channel(TOPIC, "cdr", schema)
        self._count = 0

    def send(self, figure: Poses, skeleton: Skeleton, bones: Figure | None) -> None:
        time = int(max(figure.time, 0.0) * 1e9)
        message = encode_transforms(relate_bodies(figure, skeleton), time)
        self._writer.add_message(self._channel, time, message, time, self._count)
        self._stream.flush()
        self._count += 1

    def close(self) -> None:
        if not self._stream.closed:
            self._writer.finish()
            self._stream.close()
            if not self._count:
                self._path.unlink(missing_ok=True)


def relate_bodies(figure: Poses, skeleton: Skeleton) -> list[Transform]:
    """Each known body relative to its parent, or to the world."""
    parents = {joint.child: joint.parent for joint in skeleton.joints}
    known: Bools = np.asarray(np.isfinite(figure.p).all(axis=1) & np.isfinite(figure.R).all(axis=(1, 2)))
    place = {name: k for k, name in enumerate(figure.names) if known[k]}
    found = []
    for name, k in place.items():
        parent = parents.get(name)
        R, p, frame = figure.R[k], figure.p[k], ROOT_FRAME
        if parent in place:
            up, frame = place[parent], parent
            R, p = figure.R[up].T @ R, figure.R[up].T @ (p - figure.p[up])
        found.append(Transform(frame, name, R, p))
    return found
