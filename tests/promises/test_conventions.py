"""Numbers that mean something else than they are taken for: B05 to B08, B11, B12, B14, B15, B17.

B16, the scale from two rigidly joined sensors at a known distance, is no part of a fit yet.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from condyle.simulate import Disturbances, linkage, simulate

from .takes import (
    WRITERS,
    Poses,
    arm,
    clean,
    condyle,
    csv_text,
    farthest,
    fit,
    flat,
    linkage_take,
    matches,
    name_in,
    table,
    write_columns,
    write_npz,
    write_vr,
)

SAME = 1e-9  # m: the same poses by another way
UNSEEN = "not to be seen in residuals: a scene that is mirrored as a whole, and one scale for all positions"


@pytest.fixture(scope="module")
def poses() -> Poses:
    """Few bodies: every reading is tried on every pair."""
    return Poses.of(arm(linkage_take()))


@pytest.fixture(scope="module")
def whole() -> Poses:
    return Poses.of(linkage_take())


def repaired(words: list[str], format: str, best: str, used: str, said: str, option: str, back: str) -> None:
    """Asserts that a fit reads the numbers as they are meant and says so, and nothing when the user says it too."""
    answer = fit(words)
    assert answer.status == 3
    assert answer.codes == ["convention-repaired"]
    (text,) = answer.told("convention-repaired")
    assert matches(
        f"read as {best}, not as {used} as {said}: the joints come apart <\\d+> times less; "
        f"say {option} if that is right, or {back} if not",
        text,
    ), text
    assert farthest(answer.lengths(), clean(format, of_arm=True)) < SAME
    told = fit([*words, *option.split()])
    assert (told.status, told.codes) == (0, [])
    assert farthest(told.lengths(), clean(format, of_arm=True)) < SAME


def diagnosed(words: list[str], best: str, used: str, option: str) -> None:
    """Asserts that the doctor says the same of a whole ranking, and confirms what the user says then."""
    doctor = condyle("doctor", *words)
    assert doctor.status == 3
    first = doctor.out.splitlines()[0]
    assert matches(f"{best}: fits <[\\d.]+> times better than {used}; say {option}", first), first
    assert UNSEEN in doctor.out
    assert condyle("doctor", *words, *option.split()).status == 0


THE_FILE, USUAL = "the file says", "such files usually mean"


def write_swapped(folder: Path, poses: Poses) -> list[str]:
    """A condyle CSV whose quaternions are xyzw under columns named wxyz."""
    lines = csv_text(poses, "xyzw").replace("# quaternion: xyzw", "# quaternion: wxyz").split("\n")
    lines[4] = csv_text(poses).split("\n")[4]
    (folder / "take.csv").write_text("\n".join(lines))
    return [str(folder / "take.csv")]


def test_b05_quaternions_in_the_other_order_are_read_right(tmp_path: Path, poses: Poses) -> None:
    option, back = "--quaternion xyzw", "--quaternion wxyz"
    words = write_swapped(tmp_path, poses)
    repaired(words, "csv", "quaternion xyzw", "quaternion wxyz", THE_FILE, option, back)
    diagnosed(write_swapped(tmp_path, poses), "quaternion xyzw", "quaternion wxyz", option)
    words = write_columns(tmp_path, poses, "wxyz")
    repaired(words, "columns", "quaternion wxyz", "quaternion xyzw", USUAL, back, option)


def test_b05_two_orders_that_fit_alike_are_an_error_where_nobody_says_which(tmp_path: Path) -> None:
    loud = Disturbances(position_noise=0.02, orientation_noise=np.radians(1.0))
    take = simulate(linkage(), "walk", seconds=10, rate=30, seed=3, range=0.1, disturbances=loud).take
    words = write_columns(tmp_path, Poses.of(take), "wxyz")
    answer = condyle("fit", *words)
    assert answer.status == 1
    assert matches(
        f"condyle: error: {words[0]}: the numbers fit as quaternion <.*> (joints come apart by <[\\d.]+> mm) "
        "and as quaternion <.*> (<[\\d.]+> mm); say which it is: --<.*> or --<.*>\n",
        answer.err,
    ), answer.err
    assert fit(words).error["code"] == "ambiguous-convention"
    said = fit([*words, "--quaternion", "wxyz", "--not-transposed", "--axes=x,y,z"])
    assert said.status in (0, 3)
    assert "error" not in said.facts


READ_AS = {
    "npz": ("matrices", THE_FILE),
    "csv": ("quaternion wxyz", THE_FILE),
    "columns": ("quaternion xyzw", USUAL),
    "ascension": ("Euler ZYX in degrees", USUAL),
    "qualisys": ("matrices", THE_FILE),
}


@pytest.mark.parametrize("format", ["npz", "csv", "columns", "ascension", "qualisys"])
def test_b06_transposed_rotations_are_read_right(tmp_path: Path, poses: Poses, format: str) -> None:
    spoilt = poses.but(R=np.swapaxes(poses.R, -1, -2))
    words = WRITERS[format](tmp_path, spoilt)
    used, said = READ_AS[format]
    repaired(words, format, f"{used}, transposed", used, said, "--transposed", "--not-transposed")
    if format == "npz":
        diagnosed(write_npz(tmp_path, spoilt), f"{used}, transposed", used, "--transposed")


@pytest.mark.parametrize(
    ("change", "axes"), [(lambda p: p * [1, -1, 1], "x,-y,z"), (lambda p: p[..., [0, 2, 1]], "x,z,y")]
)
@pytest.mark.parametrize("format", ["csv", "ascension"])
def test_b07_an_axis_flipped_or_swapped_is_put_right(
    tmp_path: Path, poses: Poses, format: str, change: object, axes: str
) -> None:
    spoilt = poses.but(p=change(poses.p))  # type: ignore[operator]
    words = WRITERS[format](tmp_path, spoilt)
    used, _ = READ_AS[format]
    best = f"{used}, position axes {axes}"
    repaired(words, format, best, used, USUAL, f"--axes={axes}", "--axes=x,y,z")
    if format == "csv":
        diagnosed(words, best, used, f"--axes={axes}")


@pytest.mark.parametrize("format", ["npz", "csv"])
def test_b08_a_mirrored_scene_and_one_scale_cannot_be_seen_and_the_doctor_says_so(
    tmp_path: Path, poses: Poses, format: str
) -> None:
    mirror = np.diag([1.0, -1.0, 1.0])
    spoilt = poses.but(p=1.07 * poses.p @ mirror, R=mirror @ poses.R @ mirror)
    words = WRITERS[format](tmp_path, spoilt)
    answer = fit(words)
    assert (answer.status, answer.codes) == (0, [])
    assert answer.lengths() == pytest.approx(
        {limb: 1.07 * x for limb, x in clean(format, of_arm=True).items()}, abs=1e-6
    )
    doctor = condyle("doctor", *WRITERS[format](tmp_path, spoilt))
    assert doctor.status == 0
    assert doctor.out.splitlines()[-1] == UNSEEN


def write_angles(folder: Path, poses: Poses, order: str, *, degrees: bool = True, unit: str = "") -> list[str]:
    """An Ascension table with angles in another order; scipy writes small letters for fixed axes."""
    n, m = poses.p.shape[:2]
    turn = Rotation.from_matrix(poses.R.reshape(-1, 3, 3)).as_euler(order, degrees=degrees).reshape(n, m, 3)
    parts = ("x{} [mm]", "y{} [mm]", "z{} [mm]", f"az{{}}{unit}", f"el{{}}{unit}", f"roll{{}}{unit}")
    head = ["time", *(part.format(k + 1) for k in range(m) for part in parts)]
    numbers = flat(np.concatenate([poses.p * 1000, turn], axis=2))
    path = folder / "bird.csv"
    path.write_text(",".join(head) + "\n" + table(np.column_stack([poses.time, numbers])))
    return [str(path)]


def test_b11_radians_are_told_by_the_motion_or_by_the_file(tmp_path: Path, poses: Poses) -> None:
    words = write_angles(tmp_path, poses, "ZYX", degrees=False)
    used, best = "Euler ZYX in degrees", "Euler ZYX in radians"
    repaired(words, "ascension", best, used, USUAL, "--radians", "--degrees")
    declared = fit(write_angles(tmp_path, poses, "ZYX", degrees=False, unit=" [rad]"))
    assert (declared.status, declared.codes) == (0, [])
    assert farthest(declared.lengths(), clean("ascension", of_arm=True)) < SAME


@pytest.mark.parametrize("order", ["XYZ", "YXZ", "zyx"])
def test_b12_another_order_of_the_angles_is_told_by_the_motion(tmp_path: Path, poses: Poses, order: str) -> None:
    name = order if order.isupper() else f"{order.upper()}-extrinsic"
    words = write_angles(tmp_path, poses, order)
    used = "Euler ZYX in degrees"
    repaired(words, "ascension", f"Euler {name} in degrees", used, USUAL, f"--euler {name}", "--euler ZYX")


def test_b12_the_doctor_ranks_the_orders(tmp_path: Path, poses: Poses) -> None:
    doctor = condyle("doctor", *write_angles(tmp_path, poses, "XYZ"))
    assert doctor.status == 3
    first = "Euler XYZ in degrees: fits <[\\d.]+> times better than Euler ZYX in degrees; say --euler XYZ"
    assert matches(first, doctor.out.splitlines()[0])


@pytest.mark.costly
def test_b12_what_the_user_says_is_doubted_but_kept(tmp_path: Path, poses: Poses) -> None:
    words = write_angles(tmp_path, poses, "XYZ")
    answer = fit([*words, "--euler", "ZYX"])
    assert answer.status == 3
    (text,) = answer.told("convention-doubt")
    assert matches(
        "as Euler ZYX in degrees, as was said, the joints come apart <\\d+> times more than as Euler XYZ in degrees; "
        "check --euler XYZ",
        text,
    )


UNIT = (
    "the file does not say its unit of length; {} gives sizes that a person or a machine has. "
    "A wrong unit scales every length alike and cannot be seen in residuals: give --unit"
)


@pytest.mark.parametrize(("unit", "per_metre"), [("m", 1.0), ("cm", 100.0), ("mm", 1000.0)])
def test_b14_a_unit_that_nobody_says_is_the_plausible_one(
    tmp_path: Path, whole: Poses, unit: str, per_metre: float
) -> None:
    words = write_vr(tmp_path, whole.but(p=whole.p * per_metre))[:1]
    answer = fit(words)
    assert (answer.status, answer.codes) == (3, ["unit-assumed"])
    assert answer.told("unit-assumed") == [UNIT.format(unit)]
    assert farthest(answer.lengths(), clean("vr")) < SAME
    if unit == "mm":
        given = fit([*words, "--unit", unit])
        assert (given.status, given.codes) == (0, [])
        assert given.lengths() == answer.lengths()


@pytest.mark.parametrize(
    ("per_metre", "unit", "apart"),
    [(1000.0, "mm", "374"), (39.37007874015748, "in", "14.7"), (0.001, "1000", "0.0<.*>")],
)
def test_b14_implausible_sizes_are_doubted_and_an_explicit_unit_wins(
    tmp_path: Path, whole: Poses, per_metre: float, unit: str, apart: str
) -> None:
    words = write_npz(tmp_path, whole.but(p=whole.p * per_metre))
    answer = fit(words)
    assert (answer.status, answer.codes) == (3, ["implausible-size"])
    (text,) = answer.told("implausible-size")
    assert matches(f"joined sensors are {apart} m apart; is that the unit? give it with --unit", text), text
    given = fit([*words, "--unit", unit])
    assert (given.status, given.codes) == (0, [])
    assert farthest(given.lengths(), clean("npz")) < SAME


@pytest.mark.parametrize(
    ("format", "body", "times", "back"),
    [
        ("npz", 3, 1000.0, "0.001"),
        ("csv", 2, 100.0, "0.01"),
        ("ascension", 3, 1 / 0.0254, "0.0254"),
        ("npz", 2, 1000.0, "0.001"),
    ],
)
def test_b15_one_sensor_in_another_unit_is_an_error_that_names_it(
    tmp_path: Path, whole: Poses, format: str, body: int, times: float, back: str
) -> None:
    p = whole.p.copy()
    p[:, body] *= times
    words = WRITERS[format](tmp_path, whole.but(p=p))
    answer = fit(words)
    assert (answer.status, answer.error["code"]) == (1, "sensor-unit")
    assert (answer.error["path"], answer.error["body"]) == (words[0], name_in(format, whole, body))
    assert matches(
        f"its positions fit <\\d+> times better when multiplied by {back}: "
        "it seems to be in another unit than the other sensors; write all of them in one unit",
        answer.error["text"],
    ), answer.error["text"]


@pytest.mark.parametrize("fault", ["transposed rotations", "position axes x,-y,z"])
@pytest.mark.parametrize("format", ["npz", "csv", "ascension"])
def test_b17_one_sensor_in_another_convention_is_read_so_and_named(
    tmp_path: Path, whole: Poses, format: str, fault: str
) -> None:
    p, R = whole.p.copy(), whole.R.copy()
    if fault.startswith("transposed"):
        R[:, 3] = np.swapaxes(R[:, 3], -1, -2)
    else:
        p[:, 3] *= [1, -1, 1]
    answer = fit(WRITERS[format](tmp_path, whole.but(p=p, R=R)))
    assert (answer.status, answer.codes) == (3, ["sensor-convention"])
    name = name_in(format, whole, 3)
    (finding,) = (one for one in answer.findings if one["code"] == "sensor-convention")
    assert finding["bodies"] == [name]
    assert matches(
        f"{name}: fits <\\d+> times better with {fault}, unlike the other sensors, and was read so", finding["text"]
    ), finding["text"]
    assert farthest(answer.lengths(), clean(format)) < SAME


def test_the_sentences_above_are_what_a_person_reads(tmp_path: Path, whole: Poses) -> None:
    words = write_npz(tmp_path, whole.but(R=np.swapaxes(whole.R, -1, -2)))
    shown = condyle("fit", *words, "--no-intervals")
    assert shown.status == 3
    assert re.search(r"^warning: read as matrices, transposed, not as .* \[convention-repaired\]$", shown.out, re.M)
