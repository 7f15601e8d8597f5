"""live/newest.py: the newest pose of every body, in metres, whatever its source writes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from condyle.faults.slips import Slip
from condyle.live.clock import Stamp
from condyle.live.newest import NewestPoses
from condyle.model.take import BodyMarker
from tests.make.sessions import layout, packets, person, stream

NEW = Stamp("new", 5.0, 0.0, 0)


def test_poses_are_those_of_the_newest_packet_and_gone_when_it_is_old() -> None:
    take = person(seconds=1)
    newest = NewestPoses()
    assert newest.poses(1e9) is None
    for packet in stream(take):
        newest.listen(packet, NEW)
    poses = newest.poses(1e9 + take.time[-1] + 0.1)
    assert poses is not None
    assert poses.names == take.names
    assert np.allclose(poses.p, take.p_world_body[-1])
    assert np.allclose(poses.R, take.R_world_body[-1])
    late = newest.poses(1e9 + take.time[-1] + 2.0)
    assert late is not None
    assert np.isnan(late.p).all()


def test_two_sources_with_one_name_are_told_apart() -> None:
    take = person(seconds=1)
    newest = NewestPoses()
    for source in ("lsl:a", "lsl:b"):
        newest.listen(stream(take, source)[-1], NEW)
    poses = newest.poses(1e9 + take.time[-1])
    assert poses is not None
    assert len(set(poses.names)) == 2 * take.bodies
    assert poses.names[0] == f"lsl:a/{take.names[0]}"


def test_a_sensor_that_slipped_is_moved_back() -> None:
    take = person(seconds=1)
    slip = Slip("chest", 0, 0.0, np.array([0.01, 0.0, 0.02]), np.array([0.0, 0.1, 0.0]), 200.0)
    newest = NewestPoses(slips=[slip])
    newest.listen(stream(take)[-1], NEW)
    poses = newest.poses(1e9 + take.time[-1])
    assert poses is not None
    k = take.index("chest")
    R = take.R_world_body[-1, k] @ np.linalg.inv(_turn(0.1))
    assert np.allclose(poses.R[k], R)
    assert np.allclose(poses.p[k], take.p_world_body[-1, k] - R @ slip.shift)


def _turn(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def test_markers_are_placed_and_give_the_bodies_that_are_formed_from_them() -> None:
    one = layout("prop", markers=("a", "b", "c"))
    packet = packets(one, 1)[0]
    newest = NewestPoses()
    newest.listen(packet, NEW)
    poses = newest.poses(packet.arrival_time)
    assert poses is not None
    places = packet.values[7:].reshape(3, 3)
    assert np.allclose(poses.markers, places)
    assert poses.names == ("prop",)
    shape = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0]])
    packet.values[7:] = (shape + 1.0).ravel()
    newest.shapes = [BodyMarker("leg", name, p) for name, p in zip("abc", shape, strict=True)]
    formed = newest.poses(packet.arrival_time)
    assert formed is not None
    assert formed.names == ("prop", "leg")
    assert np.allclose(formed.p[1], 1.0)
    assert np.allclose(formed.R[1], np.eye(3))
    late = newest.poses(packet.arrival_time + 2.0)
    assert late is not None
    assert np.isnan(late.p).all()
    assert np.isnan(late.markers).all()


def test_markers_that_two_sources_label_alike_are_told_apart_as_in_a_recording() -> None:
    shape = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0]])
    one = layout(markers=("a", "b", "c"))
    newest = NewestPoses()
    for source, shift in (("lsl:left", 1.0), ("lsl:right", 2.0)):
        packet = packets(replace(one, source=source), 1)[0]
        packet.values[:] = (shape + shift).ravel()
        newest.listen(packet, NEW)
    newest.shapes = [
        BodyMarker(source, f"lsl:{source}/{name}", p)
        for source in ("left", "right")
        for name, p in zip("abc", shape, strict=True)
    ]
    poses = newest.poses(packet.arrival_time)
    assert poses is not None
    assert poses.names == ("left", "right")
    assert np.allclose(poses.p, [[1.0] * 3, [2.0] * 3])
