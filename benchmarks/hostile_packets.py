"""Is every hostile packet of a live source read, or refused with the declared error, in time and memory?

`python -m benchmarks.hostile_packets --packets 1000000`; `--only natnet` for some protocols, the others stay in the
table as they are. How packets are damaged, and the bounds, are those of tests/live/hostile.py.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from tests.live.hostile import MOST_BYTES, MOST_SECONDS, attack
from tests.live.sources import (
    test_ascension,
    test_igtl_messages,
    test_mvn,
    test_natnet_packets,
    test_osc_messages,
    test_polhemus,
    test_qualisys_packets,
    test_vrpn_messages,
)
from tests.make import natnet

from condyle.live.sources import ascension
from condyle.live.sources._osc_messages import read_messages
from condyle.live.sources._serial import SERIAL_CHUNK_BYTES
from condyle.live.sources.mvn import read_datagram
from condyle.live.sources.polhemus import take_records

from .harness import RESULTS, Table, progress, publish

HEADS = ["protocol", "packets", "read", "refused", "other errors", "slowest, ms", "most memory, kB"]


def _natnet(version: tuple[int, int]) -> tuple:
    poses = test_natnet_packets.POSES * 20
    names = {k: f"body {k}" for k in range(20)}
    seeds = [natnet.frame(version, 5, 12.5, poses), natnet.models(version, names), natnet.server_info(version)]
    return test_natnet_packets.decode(version), seeds


def protocols() -> dict[str, tuple]:
    """{protocol: (decoder, sound packets)}."""
    mixed = test_osc_messages.message("/a", 7, 1.5, "word", b"blob!", 2.5, kinds="ifsbd")
    pose = test_vrpn_messages.pack_pose(7, 3, 2, test_vrpn_messages.NUMBERS, 1.5)
    name = test_vrpn_messages.pack_name(-1, 5, "vrpn_Tracker Pos_Quat")
    return {
        "NatNet 3": _natnet((3, 0)),
        "NatNet 4.1": _natnet((4, 1)),
        "OSC": (read_messages, [test_osc_messages.TRACKERS.dgram, mixed.dgram]),
        "OpenIGTLink": (test_igtl_messages.decode, list(test_igtl_messages.MESSAGES.values())),
        "Qualisys": (test_qualisys_packets.decode, test_qualisys_packets.SOUND),
        "VRPN": (test_vrpn_messages.decode, [pose, name, test_vrpn_messages.COOKIE]),
        "Polhemus": (
            lambda raw: take_records(bytearray(raw[:SERIAL_CHUNK_BYTES])),
            [test_polhemus.SOUND, test_polhemus.ANSWER],
        ),
        "Ascension": (
            lambda raw: ascension.take_records(bytearray(raw[:SERIAL_CHUNK_BYTES]), 2),
            [test_ascension.SOUND * 4, test_ascension.SOUND],
        ),
        "Xsens MVN": (read_datagram, [test_mvn.datagram(1500, test_mvn.POSES)]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=1_000_000, help="hostile packets a protocol")
    parser.add_argument("--only", default="", help="protocols whose name contains this")
    given = parser.parse_args()
    stored = RESULTS / "hostile_packets.json"
    data: dict[str, dict[str, Any]] = json.loads(stored.read_text())["results"] if given.only else {}
    for name, (decode, seeds) in protocols().items():
        if given.only.lower() in name.lower():
            data[name] = {"packets": given.packets, **vars(attack(decode, seeds, given.packets, name))}
            progress(f"{name}: {data[name]}")
    rows = [
        [
            name,
            *(str(one[key]) for key in ("packets", "read", "refused")),
            str(len(one["failures"])),
            f"{1000 * one['slowest']:.2f}",
            f"{one['largest'] / 1000:.0f}",
        ]
        for name, one in data.items()
    ]
    how = (
        f"{' '.join((__doc__ or '').split('`')[0].split())} At most {1000 * MOST_SECONDS:g} ms of CPU time and "
        f"{MOST_BYTES // 2**20} MB each; memory is traced for one packet in twenty."
    )
    given.only = ""
    publish("hostile_packets", "Hostile packets", how, {"Packets": Table(HEADS, rows)}, data, given)


if __name__ == "__main__":
    main()
