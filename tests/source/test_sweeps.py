"""Joints of a long file from all its frames: those of fitting it at once, in memory that does not grow."""

from __future__ import annotations

import tracemalloc
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import Skeleton, Take, join, read, write_take
from condyle.estimate.fitting import PLAIN, fit_tree
from condyle.io.formats import ReadOptions
from condyle.model.options import FitOptions
from condyle.pairs.fits import gaps
from condyle.pipeline import run
from condyle.prepare.read import Loaded, load
from condyle.result.assemble import Calibration
from condyle.simulate import Disturbances, SensorSlip, World, linkage, simulate
from condyle.source import blocks, sweeps
from condyle.source.blocks import AllFrames, Treatment
from condyle.source.sweeps import refine_joints
from tests.make.long_files import count_as_long

ROUNDED = 1e-12  # m: the same sums in another order
NEAR = 5e-6  # m: the same estimator on the same frames, its noise from others
SHARE = 0.4  # of the sample's distance to all frames, up to which the noise of the sample may lead elsewhere
SAME_RESIDUAL = 1e-3  # relative
FLAT = 1.15  # of peak memory, for four times the file
QUIET = {"position_noise": 0.003, "orientation_noise": np.radians(0.02)}  # the correction for orientation noise is nil
NOISY = {"position_noise": 0.003, "orientation_noise": np.radians(0.5)}


@pytest.fixture(autouse=True)
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as long, its sample has 800 frames, and blocks have 500."""
    count_as_long(monkeypatch, frames=800)
    monkeypatch.setattr(blocks, "FEWEST", 500)
    monkeypatch.setattr(blocks, "STACK_KEPT_BYTES", 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "take.csv"


def world(seconds: float = 60, seed: int = 5, **how: object) -> World:
    return simulate(linkage(), seconds=seconds, rate=60, seed=seed, disturbances=Disturbances(**{**NOISY, **how}))  # type: ignore[arg-type]


def fit(loaded: Loaded, **how: object) -> Calibration:
    return run(loaded.take, FitOptions(intervals=False, **how), loaded.long)  # type: ignore[arg-type]


def fitted(path: Path, take: Take, **how: object) -> tuple[Skeleton, Skeleton, Skeleton]:
    """The figure of a take from all its frames at once, from its sample, and from its file through the spool."""
    write_take(path, take)
    with closing(load([path], ReadOptions(), spool=True)) as loaded:
        assert loaded.take.frames < 0.4 * take.frames
        sample = run(loaded.take, FitOptions(intervals=False, **how))  # type: ignore[arg-type]
        swept = fit(loaded, **how)
    return run(take, FitOptions(intervals=False, **how)).skeleton, sample.skeleton, swept.skeleton  # type: ignore[arg-type]


def off(figure: Skeleton, other: Skeleton) -> float:
    """Largest distance [m] between the joints of two figures, in child and parent."""
    pairs = [(joint, other.joint(joint.child)) for joint in figure.joints]
    assert all(a.parent == b.parent for a, b in pairs)
    halves = [[a.p_child_joint - b.p_child_joint, a.p_parent_joint - b.p_parent_joint] for a, b in pairs]
    return float(np.linalg.norm(halves, axis=2).max())


def error(figure: Skeleton, world: World) -> float:
    """Root mean square distance [m] of the joints from the true ones."""
    truth = world.truth
    far = []
    for joint in figure.joints:
        k, (c, l) = truth.names.index(joint.child), (joint.p_child_joint, joint.p_parent_joint)
        if truth.parent[k] != truth.names.index(joint.parent):
            k, (c, l) = truth.names.index(joint.parent), (l, c)
        far += [c - truth.p_child_joint[k], l - truth.p_parent_joint[k]]
    return float(np.sqrt(np.square(far).sum(axis=1).mean()))


def words(figure: Skeleton) -> str:
    (told,) = (finding for finding in figure.findings if finding.code == "long-recording")
    return told.text


def codes(figure: Skeleton) -> list[str]:
    return [finding.code for finding in figure.findings]


@pytest.mark.parametrize("how", [{}, {"missing": 0.05}], ids=["whole", "with gaps"])
def test_least_squares_is_that_of_all_frames_to_rounding(path: Path, how: dict[str, float]) -> None:
    whole, sample, swept = fitted(path, world(**how).take, method="least-squares")
    assert off(swept, whole) < ROUNDED < 1e-5 < off(sample, whole)
    for joint in swept.joints:
        other = whole.joint(joint.child)
        assert joint.residual == pytest.approx(other.residual, rel=1e-9)
        assert joint.frames == other.frames
        np.testing.assert_allclose(joint.singular_values, other.singular_values, rtol=1e-9)


@pytest.mark.parametrize("how", [{}, {"missing": 0.05}], ids=["clean", "with gaps"])
def test_the_default_is_that_of_all_frames_to_micrometres(path: Path, how: dict[str, float]) -> None:
    whole, sample, swept = fitted(path, world(**{**QUIET, **how}).take)  # type: ignore[arg-type]
    assert off(swept, whole) < NEAR < 1e-4 < off(sample, whole)
    for joint in swept.joints:
        assert joint.residual == pytest.approx(whole.joint(joint.child).residual, rel=SAME_RESIDUAL)
    assert "; the joints were then fitted to all frames, in 1 sweep" in words(swept)


@pytest.mark.parametrize(
    "how",
    [{}, {"spikes": 0.02, "bursts": 0.02}, {"stale": 0.03}, {"latency": {"head": 0.02}}],
    ids=["white noise", "outliers", "stale", "latency"],
)
def test_a_sample_tells_noise_and_delays_well_enough(path: Path, how: dict[str, float]) -> None:
    whole, sample, swept = fitted(path, world(**how).take)  # type: ignore[arg-type]
    assert off(swept, whole) < SHARE * off(sample, whole)


@pytest.mark.parametrize("method", ["default", "least-squares"])
def test_all_frames_come_nearer_to_the_truth_than_the_sample(path: Path, method: str) -> None:
    errors = []
    for seed in range(4):
        one = world(60, seed=seed, **QUIET)
        _, sample, swept = fitted(path, one.take, method=method)
        errors.append((error(sample, one), error(swept, one)))
    sample_rms, swept_rms = np.sqrt(np.mean(np.square(errors), axis=0))
    assert swept_rms < 0.8 * sample_rms


def test_exact_data_stay_exact(path: Path) -> None:
    one = world(position_noise=0.0, orientation_noise=0.0)
    _, _, swept = fitted(path, one.take)
    assert error(swept, one) < 1e-9
    assert max(joint.residual for joint in swept.joints) < 1e-9


def test_exact_data_that_are_spoilt_outside_the_sample_keep_the_joints_of_the_sample(path: Path) -> None:
    one = world(position_noise=0.0, orientation_noise=0.0)
    _, _, swept = fitted(path, moved(one.take, "l_forearm", outside(one.take, path, 0.01), 0.5))
    assert error(swept, one) < 1e-9
    assert "; the joints come from these alone, since they are exact there, and not in all frames" in words(swept)
    assert "sample-differs" in codes(swept)


def outside(take: Take, path: Path, spoilt: float) -> np.ndarray:
    """Some rows that are not in the sample of the take's file."""
    write_take(path, take)
    rows = np.flatnonzero(~np.isin(take.time, read(path).time))
    return np.random.default_rng(3).choice(rows, int(spoilt * take.frames), replace=False)


def moved(take: Take, body: str, rows: np.ndarray, by: float) -> Take:
    p = take.p_world_body.copy()
    p[rows, take.index(body)] += by
    return Take(take.names, take.time, take.R_world_body, p)


@pytest.mark.parametrize("share", [0.02, 0.0005], ids=["many", "a lone one"])
def test_spikes_outside_the_sample_are_weighed_out(path: Path, share: float) -> None:
    take = world(**QUIET).take
    whole, sample, swept = fitted(path, moved(take, "l_forearm", outside(take, path, share), 0.5))
    assert off(swept, whole) < SHARE * off(sample, whole)
    assert "sweeps" in words(swept)
    plain = fitted(path, moved(take, "l_forearm", outside(take, path, share), 0.5), method="least-squares")[2]
    assert off(plain, whole) > 2 * off(swept, whole)


def test_noise_that_grows_with_place_is_weighed_as_in_the_sample(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count_as_long(monkeypatch, frames=1600)
    whole, _, swept = fitted(path, world(80, range_power=2.0, range_scale=0.7).take)
    for joint in swept.joints:  # 3 to 20 % more if every frame counted alike
        assert joint.residual == pytest.approx(whole.joint(joint.child).residual, rel=0.01)


def test_what_the_sample_does_not_have_is_told_with_joint_and_time(path: Path) -> None:
    one = world(60)
    assert "sample-differs" not in codes(fitted(path, one.take)[2])
    rows = outside(one.take, path, 0.7)
    rows = rows[(one.take.time[rows] > 40) & (one.take.time[rows] < 44)]
    (told,) = (
        finding
        for finding in fitted(path, moved(one.take, "l_forearm", rows, 0.2))[2].findings
        if finding.code == "sample-differs"
    )
    assert told.severity == "warning"
    assert "l_forearm" in told.bodies
    assert told.time is not None
    assert 30 < told.time[0] < 42 < told.time[1] < 50
    assert told.value is not None
    assert told.value > sweeps.DIFFERS


def test_what_the_sample_has_as_well_is_no_difference(path: Path) -> None:
    spoilt = moved(world(60).take, "l_forearm", np.arange(0, 3600, 50), 0.2)
    assert "sample-differs" not in codes(fitted(path, spoilt)[2])


def test_a_slip_is_moved_back_in_every_frame(path: Path) -> None:
    slip = SensorSlip("l_forearm", 31.0, (0.02, 0.03, -0.01), (0.0, 0.2, 0.1))
    errors = []
    for seed in (2, 3):
        one = world(90, seed=seed, slips=(slip,), **QUIET)
        whole, sample, swept = fitted(path, one.take)
        assert "slip" in codes(swept)
        for joint in swept.joints:  # 30 mm on if it were not
            assert joint.residual == pytest.approx(whole.joint(joint.child).residual, rel=0.05)
        errors.append((error(sample, one), error(swept, one)))
    sample_rms, swept_rms = np.sqrt(np.mean(np.square(errors), axis=0))
    assert swept_rms < 0.7 * sample_rms


def test_sensors_that_were_exchanged_are_left_out_or_exchanged_back_in_every_frame(path: Path) -> None:
    take = world(80, **QUIET).take
    R, p = take.R_world_body.copy(), take.p_world_body.copy()
    a, b = take.index("l_forearm"), take.index("r_forearm")
    R[2000:2600, [a, b]], p[2000:2600, [a, b]] = R[2000:2600, [b, a]], p[2000:2600, [b, a]]
    whole, sample, swept = fitted(path, Take(take.names, take.time, R, p), fix=("swaps",))
    assert "swap" in codes(swept)
    assert "sample-differs" not in codes(swept)
    assert off(swept, whole) < NEAR < 1e-4 < off(sample, whole)


def test_a_convention_that_the_file_has_wrong_is_put_right_in_every_frame(path: Path) -> None:
    take = world(60, **QUIET).take
    write_take(path, take)
    right = path.read_text()
    text = right.replace(".qw,", ".tmp,").replace(".qx,", ".qw,").replace(".qy,", ".qx,")
    path.write_text(text.replace(".qz", ".qy").replace(".tmp,", ".qz,").replace("quaternion: wxyz", "quaternion: zwxy"))
    with closing(load([path], ReadOptions(), spool=True)) as loaded:
        assert "convention-repaired" in [finding.code for finding in loaded.take.findings]
        swept = fit(loaded).skeleton
    path.write_text(right)
    assert off(swept, fitted(path, take)[2]) < ROUNDED
    assert "sample-differs" not in codes(swept)


def test_options_of_the_fit_reach_every_frame(path: Path) -> None:
    take = world(60, **QUIET).take
    plain, scaled = fitted(path, take)[2], fitted(path, take, scale=2.0)
    assert off(scaled[2], scaled[0]) < 2 * NEAR
    assert scaled[2].joints[0].residual == pytest.approx(2 * plain.joints[0].residual, rel=SAME_RESIDUAL)
    room = fitted(path, take, world=True, tree=[("world", "chest")])
    assert off(room[2], room[0]) < 0.2 * off(room[1], room[0])


def test_files_are_put_together_and_short_ones_are_whole(tmp_path: Path) -> None:
    takes = [world(40, seed=5, **QUIET).take, world(40, seed=5, **QUIET).take, world(10, seed=5, **QUIET).take]
    paths = [tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "c.npz"]
    takes[1] = takes[1].select(takes[1].names[::-1])  # columns in another order
    for file, take in zip(paths, takes, strict=True):
        write_take(file, take)
    whole = condyle.fit(join(takes), intervals=False, plan="least-squares").skeleton
    with closing(load(paths, ReadOptions(), spool=True)) as loaded:
        assert loaded.take.frames < 0.4 * sum(take.frames for take in takes)
        swept = fit(loaded, method="least-squares").skeleton
    assert off(swept, whole) < ROUNDED
    assert swept.joints[0].frames == sum(take.frames for take in takes)


@pytest.mark.parametrize("method", ["accurate", "drift"])
def test_other_methods_keep_the_joints_of_the_sample_and_say_so(path: Path, method: str) -> None:
    _, sample, swept = fitted(path, world(40).take, method=method)
    assert off(swept, sample) == 0
    assert f"; the joints come from these alone, since the method {method} is no sum over frames" in words(swept)


def test_the_residual_of_all_frames_is_known_at_other_joints_as_well(path: Path) -> None:
    take = world().take
    write_take(path, take)
    options = FitOptions(method="least-squares", prepare=False)
    with closing(load([path], ReadOptions(), spool=True)) as loaded:
        figure = fit(loaded, method="least-squares").skeleton
        all_frames = AllFrames(loaded.long, Treatment(options, loaded.take, loaded.take))
        refined = refine_joints(all_frames, loaded.take, fit_tree(loaded.take, [], options, PLAIN), "least-squares")
    elsewhere = [replace(joint, p_child_joint=joint.p_child_joint + 0.01) for joint in figure.joints]
    pairs = np.array([(take.index(joint.child), take.index(joint.parent)) for joint in elsewhere])
    halves = [np.stack([getattr(joint, name) for joint in elsewhere]) for name in ("p_child_joint", "p_parent_joint")]
    wanted = np.sqrt(np.square(gaps(take, pairs, *halves)).sum(axis=2).mean(axis=0))
    np.testing.assert_allclose(refined.residual(elsewhere), wanted, rtol=1e-9)


def test_a_file_that_the_sample_has_whole_is_fitted_as_ever(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count_as_long(monkeypatch, frames=10**6)
    take = world(10).take
    write_take(path, take)
    with closing(load([path], ReadOptions(), spool=True)) as loaded:
        assert loaded.long == ()
        assert off(fit(loaded).skeleton, condyle.fit(take, intervals=False).skeleton) < ROUNDED


def test_a_recording_without_time_is_swept_as_well(path: Path) -> None:
    take = world(60, **QUIET).take
    write_take(path, take)
    lines = path.read_text().splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("time,"))
    path.write_text("\n".join(lines[:head] + [line.partition(",")[2] for line in lines[head:]]) + "\n")
    with closing(load([path], ReadOptions(), spool=True)) as loaded:
        swept = fit(loaded, method="least-squares").skeleton
    assert off(swept, condyle.fit(take, intervals=False, plan="least-squares").skeleton) < ROUNDED


def test_each_sweep_is_told_by_name_to_its_end(path: Path) -> None:
    write_take(path, world(30, spikes=0.02, stale=0.02).take)
    told: list[tuple[str, int, int]] = []
    with closing(load([path], ReadOptions(), spool=True)) as loaded:
        size = loaded.long[0].spool.bytes
        run(loaded.take, FitOptions(intervals=False), loaded.long, lambda *one: told.append(one))
    names = list(dict.fromkeys(one[0] for one in told))
    assert names[:2] == ["sweep 1 over all frames", "sweep 2 over all frames"]
    for name in names:
        done = [one[1] for one in told if one[0] == name]
        assert done == sorted(done)
        assert done[-1] == size
    assert {one[2] for one in told} == {size}


def test_memory_of_a_sweep_does_not_grow_with_the_file(tmp_path: Path) -> None:
    take = world(20, spikes=0.01).take
    peaks = []
    for times in (2, 8):
        path = tmp_path / f"{times}.csv"
        write_take(path, join([take] * times))
        with closing(load([path], ReadOptions(), spool=True)) as loaded:
            tracemalloc.start()
            fit(loaded)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < FLAT * peaks[0]
