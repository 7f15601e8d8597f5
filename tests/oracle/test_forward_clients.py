"""`forward` against MuJoCo, pinocchio and OpenSim, which know nothing but the exported files."""

from __future__ import annotations

from pathlib import Path

import pytest

from condyle.io.exports import mjcf, osim, urdf
from condyle.io.exports.scene import FigureFormat
from tests.make import simulators

PLACES = 1e-9  # m
TURNS = 1e-9  # of matrix entries
MACHINE_PLACES = 1e-6  # m, and of matrix entries: machines are fitted, to exact data

CLIENTS = {
    "mjcf in mujoco": (mjcf.FORMAT, "mujoco", simulators.MJCF, "z"),
    "urdf in mujoco": (urdf.FORMAT, "mujoco", simulators.URDF_IN_MUJOCO, "z"),
    "urdf in pinocchio": (urdf.FORMAT, "pinocchio", simulators.URDF_IN_PINOCCHIO, "z"),
    "osim in opensim": (osim.FORMAT, "opensim", simulators.OSIM, "y"),
}


@pytest.mark.parametrize(("form", "client", "script", "up"), CLIENTS.values(), ids=CLIENTS)
def test_programs_that_read_the_exported_files_put_every_sensor_where_forward_does(
    form: FigureFormat, client: str, script: str, up: str, tmp_path: Path
) -> None:
    off = simulators.departures(form, client, script, up, simulators.cases(), tmp_path)
    check_departures(off, 9, PLACES, TURNS)


@pytest.mark.costly
@pytest.mark.parametrize(("form", "client", "script", "up"), CLIENTS.values(), ids=CLIENTS)
def test_programs_put_the_sensors_of_machines_where_they_were(
    form: FigureFormat, client: str, script: str, up: str, tmp_path: Path
) -> None:
    """Sliders, threads and universal joints: the oracle is the simulated machine, not condyle's kinematics."""
    off = simulators.departures(form, client, script, up, simulators.machine_cases(), tmp_path)
    check_departures(off, 6, MACHINE_PLACES, MACHINE_PLACES)


def check_departures(off: dict[str, tuple[float, float]], count: int, places: float, turns: float) -> None:
    assert len(off) == count
    for case, (distance, turn) in off.items():
        assert distance < places, f"{case}: {distance:.3g} m"
        assert turn < turns, f"{case}: {turn:.3g}"
