"""prepare/read.py: files to one take."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import Take
from condyle.errors import CondyleError, UsageError
from condyle.io.exports import write_take
from condyle.io.formats import ReadOptions, read_recording
from condyle.maths import rotation
from condyle.model.recording import Bodies, Markers, Recording
from condyle.prepare.read import _is_in_doubt, hide_far_markers, load, read, read_turns, recordings_in
from condyle.simulate import Disturbances, linkage, simulate
from tests.make.spoilt import FAULTS, make_recording

NOISE = Disturbances(position_noise=0.004, orientation_noise=np.radians(0.5))
CLOSE = 1e-9


@pytest.fixture(scope="module")
def take() -> Take:
    return simulate(linkage(), "walk", seconds=6, seed=5, disturbances=NOISE).take


def transposed(take: Take) -> Take:
    return replace(take, R_world_body=np.swapaxes(take.R_world_body, -1, -2))


def test_several_files_are_segments_of_one_take(take: Take, tmp_path: Path) -> None:
    write_take(tmp_path / "a.npz", take.slice(0, 90))
    write_take(tmp_path / "b.csv", take.slice(90, None))
    both = read([tmp_path / "a.npz", tmp_path / "b.csv"])
    assert both.frames == take.frames
    assert sorted(set(both.segment.tolist())) == [0, 1]


def test_no_file_is_refused() -> None:
    with pytest.raises(UsageError, match="no file"):
        read([])


def test_transposed_matrices_are_put_right_and_told(take: Take, tmp_path: Path) -> None:
    write_take(tmp_path / "a.npz", transposed(take))
    got = read(tmp_path / "a.npz")
    np.testing.assert_allclose(got.R_world_body, take.R_world_body, atol=CLOSE)
    assert [finding.code for finding in got.findings] == ["convention-repaired"]
    assert "--transposed" in got.findings[0].text


def test_an_explicit_option_wins_over_the_motion_and_is_doubted(take: Take, tmp_path: Path) -> None:
    write_take(tmp_path / "a.npz", transposed(take))
    got = read(tmp_path / "a.npz", transposed=False)
    np.testing.assert_allclose(got.R_world_body, transposed(take).R_world_body, atol=CLOSE)
    assert [finding.code for finding in got.findings] == ["convention-doubt"]
    asked = read(tmp_path / "a.npz", transposed=True)
    np.testing.assert_allclose(asked.R_world_body, take.R_world_body, atol=CLOSE)
    assert asked.findings == ()


def test_the_doctor_can_be_sent_away(take: Take, tmp_path: Path) -> None:
    write_take(tmp_path / "a.npz", transposed(take))
    loaded = load([tmp_path / "a.npz"], ReadOptions(doctor=False))
    assert loaded.diagnosis is None
    np.testing.assert_allclose(loaded.take.R_world_body, transposed(take).R_world_body, atol=CLOSE)


def test_one_sensor_in_millimetres_is_an_error_that_names_file_and_sensor(take: Take, tmp_path: Path) -> None:
    p = take.p_world_body.copy()
    p[:, 2] *= 1000
    write_take(tmp_path / "a.npz", replace(take, p_world_body=p))
    with pytest.raises(CondyleError) as error:
        read(tmp_path / "a.npz")
    assert (error.value.code, error.value.body) == ("sensor-unit", take.names[2])
    assert error.value.path == str(tmp_path / "a.npz")


def trajectory(take: Take, body: int, offset: float = 0.0) -> str:
    q = rotation.to_quaternion(take.R_world_body[:, body])[:, [1, 2, 3, 0]]
    rows = np.column_stack([take.time + 1000 + offset, take.p_world_body[:, body], q])
    return "".join(" ".join(repr(float(x)) for x in row) + "\n" for row in rows)


def test_files_of_one_body_each_recorded_at_the_same_time_are_bodies_of_one_take(take: Take, tmp_path: Path) -> None:
    for k in (0, 1):
        (tmp_path / f"{take.names[k]}.tum").write_text(trajectory(take, k))
    both = read([tmp_path / f"{take.names[k]}.tum" for k in (0, 1)])
    assert both.names == take.names[:2]
    np.testing.assert_allclose(both.p_world_body, take.p_world_body[:, :2], atol=CLOSE)


def test_files_of_one_body_each_recorded_one_after_the_other_are_not_mixed_up(take: Take, tmp_path: Path) -> None:
    (tmp_path / "a.tum").write_text(trajectory(take, 0))
    (tmp_path / "b.tum").write_text(trajectory(take, 1, offset=1e4))
    with pytest.raises(CondyleError) as error:
        read([tmp_path / "a.tum", tmp_path / "b.tum"])
    assert error.value.code == "bodies-differ"


def test_bodies_without_markers_are_refused(take: Take, tmp_path: Path) -> None:
    write_take(tmp_path / "a.npz", take)
    with pytest.raises(UsageError, match="for markers"):
        read(tmp_path / "a.npz", bodies={"a": ["M1", "M2", "M3"]})


def test_a_fit_of_wrong_quaternions_gives_the_figure_of_right_ones(take: Take, tmp_path: Path) -> None:
    wrong = FAULTS["xyzw read as wxyz"](take)
    assert wrong.bodies is not None
    q = wrong.bodies.orientation
    header = "time," + ",".join(
        f"{name}.{part}" for name in take.names for part in ("px", "py", "pz", "qw", "qx", "qy", "qz")
    )
    poses = np.concatenate([take.p_world_body, q], axis=2).reshape(take.frames, -1)
    rows = np.column_stack([take.time, poses])
    path = tmp_path / "a.csv"
    path.write_text(header + "\n" + "".join(",".join(repr(float(x)) for x in row) + "\n" for row in rows))
    fixed = condyle.fit(read(path), intervals=False).skeleton
    right = condyle.fit(take, intervals=False).skeleton
    assert "convention-repaired" in [finding.code for finding in fixed.findings]
    for a, b in zip(fixed.limbs, right.limbs, strict=True):
        assert a.length == pytest.approx(b.length, abs=1e-6)


def test_the_doctor_command_ranks_readings_and_says_what_to_give(
    take: Take, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from condyle.cli import main

    path = tmp_path / "a.npz"
    write_take(path, transposed(take))
    assert main(["doctor", str(path), "--strict"]) == 3
    out = capsys.readouterr().out
    assert "matrices, transposed: fits" in out.splitlines()[0]
    assert "say --transposed" in out.splitlines()[0]
    assert "not to be seen in residuals" in out
    assert main(["doctor", str(path), "--json", "--strict"]) == 3
    facts = json.loads(capsys.readouterr().out)
    assert facts["verdict"] == "other"
    assert facts["ranking"][0]["transposed"]
    write_take(path, take)
    assert main(["doctor", str(path)]) == 0
    assert "confirmed by the motion" in capsys.readouterr().out
    write_take(path, take.select(take.names[:1]))
    assert main(["doctor", str(path)]) == 1
    assert "takes two bodies" in capsys.readouterr().err


def test_a_recording_survives_its_own_convention(take: Take) -> None:
    assert make_recording(take).convention.rotation == "wxyz"


def test_rotations_without_a_position_are_read_beside_the_take(take: Take, tmp_path: Path) -> None:
    place = take.p_world_body.copy()
    place[:, 2] = 0.0
    write_take(tmp_path / "a.npz", replace(take, p_world_body=place))
    turns = read_turns(load([tmp_path / "a.npz"], ReadOptions(doctor=False)))
    assert turns is not None
    np.testing.assert_allclose(turns[:, 2], take.R_world_body[:, 2], atol=CLOSE)
    assert np.isnan(np.delete(turns, 2, axis=1)).all()
    write_take(tmp_path / "b.npz", take)
    assert read_turns(load([tmp_path / "b.npz"], ReadOptions(doctor=False))) is None


def test_files_of_one_body_each_are_side_by_side_where_they_share_half_of_their_time(
    take: Take, tmp_path: Path
) -> None:
    (tmp_path / "a.tum").write_text(trajectory(take, 0))
    for share, together in ((0.6, True), (0.4, False)):
        (tmp_path / "b.tum").write_text(trajectory(take, 1, offset=(1 - share) * take.seconds))
        if together:
            assert read([tmp_path / "a.tum", tmp_path / "b.tum"]).bodies == 2
        else:
            with pytest.raises(CondyleError, match="missing"):
                read([tmp_path / "a.tum", tmp_path / "b.tum"])


def test_files_side_by_side_may_say_more_or_less_of_the_same_convention(take: Take, tmp_path: Path) -> None:
    said, untold = tmp_path / "a.tum", tmp_path / "b.tum"
    said.write_text("# timestamp tx ty tz qx qy qz qw\n" + trajectory(take, 0))
    untold.write_text(trajectory(take, 1))
    for files in ([said, untold], [untold, said]):
        assert set(read(files).names) == {"a", "b"}
    (recording,) = recordings_in([said, untold], ReadOptions())
    assert recording.convention.stated == read_recording(untold, ReadOptions()).convention.stated


def test_the_motion_is_asked_for_the_convention_of_up_to_64_bodies_of_a_device() -> None:
    for bodies, asked in ((40, True), (64, True), (65, False)):
        names = tuple(f"s{k}" for k in range(bodies))
        poses = Bodies(names, np.zeros((3, bodies, 3)), np.zeros((3, bodies, 4)))
        assert _is_in_doubt([Recording("a", bodies=poses)], ReadOptions()) == asked
        assert not _is_in_doubt([Recording("a", bodies=poses, solved_by="another program")], ReadOptions())
        assert _is_in_doubt([Recording("a", bodies=poses)], ReadOptions(doctor=True))


def test_a_marker_at_a_place_that_is_none_is_not_seen() -> None:
    p = np.zeros((4, 2, 3))
    p[1, 0, 2], p[2, 1] = -1e300, np.nan
    far = hide_far_markers(Recording(markers=Markers(("a", "b"), p), rate=100.0))
    assert far.markers is not None
    assert np.isnan(far.markers.position[1, 0]).all()
    assert np.isnan(far.markers.position).sum() == 6
    assert hide_far_markers(far) is far


def test_such_a_marker_is_found_behind_a_block_in_which_nothing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condyle.maths.spool.BLOCK_BYTES", 48)
    p = np.full((4, 2, 3), np.nan)
    p[3] = 1e300
    found = hide_far_markers(Recording(markers=Markers(("a", "b"), p), rate=100.0)).markers
    assert found is not None
    assert np.isnan(found.position).all()
