"""live/sources/lsl.py: two processes on this machine, one that streams by pylsl and one that records."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from condyle.io.formats._log_frames import read_frames
from condyle.live.sources.lsl import import_library

pytest.importorskip("pylsl", reason="pylsl is not installed", exc_type=Exception)

FRAMES = 600
# Nothing leaves this machine: streams are looked for on its own address only.
CONFIGURATION = """
[ports]
IPv6 = disable
[multicast]
ResolveScope = machine
AddressesOverride = {127.0.0.1}
[log]
level = -3
"""
SENDER = f"""
import sys, time
import numpy as np, pylsl
form, labels = sys.argv[2], sys.argv[3]
info = pylsl.StreamInfo(sys.argv[1], "MoCap", 14, 200, form, "condyle-test")
channels = info.desc().append_child("channels")
for body in ("hip", "thigh"):
    for type, part in zip("PositionX PositionY PositionZ OrientationX OrientationY OrientationZ OrientationW".split(),
                          "x y z qx qy qz qw".split()):
        channel = channels.append_child("channel")
        if labels == "metadata":
            channel.append_child_value("label", "?").append_child_value("object", body)
            channel.append_child_value("type", type).append_child_value("unit", "meters")
        elif labels == "labels":
            channel.append_child_value("label", f"{{body}}_{{part}}").append_child_value("unit", "mm")
        else:
            channel.append_child_value("label", "electrode")
outlet = pylsl.StreamOutlet(info)
print("ready", flush=True)
if not outlet.wait_for_consumers(30):
    sys.exit("nobody came")
time.sleep(0.3)
for k in range({FRAMES}):
    outlet.push_sample((k + np.arange(14) / 1000).tolist(), 1000 + k / 200)
    time.sleep(0.001)
time.sleep(1)
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "lsl_api.cfg").write_text(CONFIGURATION)
    return {**os.environ, "LSLAPICFG": str(tmp_path / "lsl_api.cfg")}


def record(tmp_path: Path, environment: dict[str, str], form: str, labels: str) -> subprocess.CompletedProcess[str]:
    name = f"condyle-{os.getpid()}-{form}-{labels}"
    with subprocess.Popen(
        [sys.executable, "-c", SENDER, name, form, labels], env=environment, stdout=subprocess.PIPE, text=True
    ) as sender:
        assert sender.stdout is not None
        assert sender.stdout.readline() == "ready\n"
        words = [
            sys.executable,
            "-m",
            "condyle",
            "live",
            "--record-only",
            f"lsl:{name}",
            "-o",
            str(tmp_path / "out"),
            "--seconds",
            "3",
        ]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
        sender.kill()
    return done


@pytest.mark.parametrize(("form", "labels", "unit"), [("double64", "metadata", "meters"), ("float32", "labels", "mm")])
def test_every_sample_of_another_process_is_recorded_bit_by_bit(
    tmp_path: Path, environment: dict[str, str], form: str, labels: str, unit: str
) -> None:
    done = record(tmp_path, environment, form, labels)
    assert done.returncode == 0, done.stderr
    ((source,), _, findings) = read_frames(tmp_path / "out" / "session.log")
    assert not findings
    assert source.layout.bodies == ("hip", "thigh")
    assert (source.layout.convention.unit, source.layout.convention.rotation) == (unit, "xyzw")
    assert source.device.tolist() == [1000 + k / 200 for k in range(FRAMES)]
    kind = np.float64 if form == "double64" else np.float32
    sent = (np.arange(FRAMES)[:, None] + np.arange(14) / 1000).astype(kind).astype(float).reshape(-1, 2, 7)
    assert np.array_equal(source.position, sent[:, :, :3])
    assert np.array_equal(source.orientation, sent[:, :, 3:])


def test_a_stream_of_something_else_is_told(tmp_path: Path, environment: dict[str, str]) -> None:
    done = record(tmp_path, environment, "float32", "brain")
    assert done.returncode == 1
    assert "has no channels of a body's place and rotation" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_stream_that_is_not_there_is_told(tmp_path: Path, environment: dict[str, str]) -> None:
    words = [sys.executable, "-m", "condyle", "live", "--record-only", "lsl:nobody", "-o", str(tmp_path / "out")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "no LSL stream is named 'nobody'; there are none" in done.stderr


def test_an_older_library_that_cannot_be_told_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    older = ModuleType("pylsl")
    monkeypatch.setitem(sys.modules, "pylsl", older)
    monkeypatch.delenv("LSLAPICFG", raising=False)
    assert import_library.__wrapped__() is older


@pytest.mark.parametrize("chosen", [False, True])
def test_the_library_says_nothing_on_the_terminal_unless_its_user_has_settings(tmp_path: Path, chosen: bool) -> None:
    (tmp_path / "lsl.cfg").write_text(CONFIGURATION.replace("-3", "0"))
    script = "from condyle.live.sources.lsl import import_library; import_library().library_info()\n"
    script += "import_library().StreamInfo('x', 'MoCap', 1, source_id='x')"
    outside = {name: value for name, value in os.environ.items() if name != "LSLAPICFG"} | {"HOME": str(tmp_path)}
    outside |= {"LSLAPICFG": str(tmp_path / "lsl.cfg")} if chosen else {}
    run = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=outside, capture_output=True, text=True)
    assert run.returncode == 0
    assert ("Configuration loaded" in run.stderr) == chosen
    assert chosen or run.stdout + run.stderr == ""
