"""Channels with names: which of them are the place and the rotation of which body, by the words that tables use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...errors import CondyleError, UsageError
from ...findings import list_some
from ...io.log_records import Layout
from ...io.tables.vocabulary import Thing, read_column_names
from ...maths.arrays import Floats, Ints
from ...model.recording import Convention
from ...model.units import metres_per

ROTATION_OF = {"wxyz": "wxyz", "xyzw": "xyzw", "q0123": "wxyz", "angles": "ZYX", "matrix": "matrix"}


class Channels(NamedTuple):
    """What the channels of a stream mean.

    layout   of the packets that are made of them
    columns  (layout.width,) the channel of every number of a packet
    """

    layout: Layout
    columns: Ints

    def values(self, samples: Floats) -> Floats:
        """(n, layout.width) the numbers of packets from samples (n, channels)."""
        return samples[:, self.columns]


def read_channels(word: str, labels: Sequence[str], units: Sequence[str] = ()) -> Channels:
    """What the labels say: `hip_x hip_y hip_z hip_qx hip_qy hip_qz hip_qw`; raises where they name no body.

    units  of the channels, as the stream states them; empty where it does not
    """
    things = read_column_names(labels).things
    kinds = Counter(thing.kind for thing in things if thing.position and thing.kind)
    if not kinds:
        listed = list_some(labels, 8, ", ...")
        text = (
            f"{word} has no channels of a body's place and rotation, such as hip_x hip_y hip_z hip_qw hip_qx hip_qy "
            f"hip_qz; its channels are {listed or 'not named'}"
        )
        raise CondyleError(text, code="missing-column")
    kind = kinds.most_common(1)[0][0]
    bodies = [thing for thing in things if thing.position and thing.kind == kind]
    markers = [thing for thing in things if thing.position and not thing.kind]
    unit = find_unit([units[thing.position[0]] for thing in bodies]) if units else None
    convention = Convention(
        ROTATION_OF[kind], unit=unit, stated=frozenset({"rotation", *(("unit",) if unit is not None else ())})
    )
    columns = [column for thing in bodies for column in thing.position]
    columns += [column for thing in bodies for column in thing.rotation]
    columns += [column for thing in markers for column in thing.position]
    layout = Layout(word, _names(bodies), _names(markers), convention)
    return Channels(layout, np.array(columns, np.int64))


def _names(things: Sequence[Thing]) -> tuple[str, ...]:
    return tuple(thing.name or f"s{k + 1}" for k, thing in enumerate(things))


def find_unit(units: Sequence[str]) -> str | None:
    """The unit of length that all of them are, or None."""
    if len(set(units)) != 1 or not units[0]:
        return None
    try:
        metres_per(units[0].lower())
    except UsageError:
        return None
    return units[0].lower()
