"""Poses of OpenVR (SteamVR) as OSC messages, for `condyle live osc:9000`. UNTESTED: no headset was there to try it.

Needs `pip install openvr python-osc` on the machine of the headset. Every tracked device is a body named by its serial
number; its pose in the standing play area is sent as x y z qx qy qz qw in metres, y up. Devices that are not tracked
are not sent. An OpenXR program can send the same message for each of its action spaces.

    python openvr_bridge.py 192.168.0.4 9000
"""

from __future__ import annotations

import sys
import time

RATE_HZ = 90.0


def quaternion(m: list[list[float]]) -> tuple[float, float, float, float]:
    """x y z w of a rotation matrix, by its largest component."""
    diagonal = (m[0][0], m[1][1], m[2][2])
    w = max(0.0, 1 + diagonal[0] + diagonal[1] + diagonal[2])
    x = max(0.0, 1 + diagonal[0] - diagonal[1] - diagonal[2])
    y = max(0.0, 1 - diagonal[0] + diagonal[1] - diagonal[2])
    z = max(0.0, 1 - diagonal[0] - diagonal[1] + diagonal[2])
    most = max(w, x, y, z)
    half = 0.5 / most**0.5
    if most == w:
        found = ((m[2][1] - m[1][2]) * half, (m[0][2] - m[2][0]) * half, (m[1][0] - m[0][1]) * half, most * half)
    elif most == x:
        found = (most * half, (m[0][1] + m[1][0]) * half, (m[0][2] + m[2][0]) * half, (m[2][1] - m[1][2]) * half)
    elif most == y:
        found = ((m[0][1] + m[1][0]) * half, most * half, (m[1][2] + m[2][1]) * half, (m[0][2] - m[2][0]) * half)
    else:
        found = ((m[0][2] + m[2][0]) * half, (m[1][2] + m[2][1]) * half, most * half, (m[1][0] - m[0][1]) * half)
    return found


def main(host: str, port: int) -> None:
    import openvr
    from pythonosc.udp_client import SimpleUDPClient

    system, client = openvr.init(openvr.VRApplication_Other), SimpleUDPClient(host, port)
    names: dict[int, str] = {}
    try:
        while True:
            poses = system.getDeviceToAbsoluteTrackingPose(
                openvr.TrackingUniverseStanding, 0.0, openvr.k_unMaxTrackedDeviceCount
            )
            for k, pose in enumerate(poses):
                if not (pose.bDeviceIsConnected and pose.bPoseIsValid):
                    continue
                if k not in names:
                    names[k] = system.getStringTrackedDeviceProperty(k, openvr.Prop_SerialNumber_String)
                m = [[pose.mDeviceToAbsoluteTracking[row][column] for column in range(4)] for row in range(3)]
                client.send_message(f"/{names[k]}", [m[0][3], m[1][3], m[2][3], *quaternion(m)])
            time.sleep(1 / RATE_HZ)
    finally:
        openvr.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
