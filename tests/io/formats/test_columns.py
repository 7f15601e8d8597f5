from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError, UsageError
from condyle.io.format import ReadOptions
from condyle.io.formats import columns
from condyle.maths import rotation
from condyle.model.recording import Recording, to_take
from tests.make.texts import codes, read_cuts

EXACT = 1e-12  # of a number that is only parsed
INTERPOLATED = 1e-6  # m, of a straight line

HEAD = "t,bx,by,bz,qx,qy,qz,qw,note\n"
ROWS = "".join(f"{10 * k},{k},2,3.5,0,0,0,1,ok\n" for k in range(4))
MAP = """
unit = "mm"
time = "t"
time_unit = "ms"
[bodies.forearm]
position = ["bx", "by", "bz"]
orientation = ["qx", "qy", "qz", "qw"]
"""
SMALL_MAP = """
[bodies.a]
position = [1, 2, 3]
orientation = [4, 5, 6, 7]
[bodies.b]
position = "8-10"
orientation = "11-14"
"""
SMALL: dict[str, bytes] = {
    "no header": b"1,2,3,0,0,0,1,4,5,6,1,0,0,0\n" * 3,
    "header": b"a,b,c,d,e,f,g,h,i,j,k,l,m,n\n" + b"1,2,3,0,0,0,1,4,5,6,1,0,0,0\n" * 3,
    "decimal commas": b"1,5;2;3;0;0;0;1;4;5;6;1;0;0;0\n" * 3,
    "blanks": b"1 2 3 0 0 0 1 4 5 6 1 0 0 0\n" * 3,
}


def read(tmp_path: Path, table: str | bytes, toml: str, **options: object) -> Recording:
    path, maps = tmp_path / "log.csv", tmp_path / "map.toml"
    path.write_bytes(table if isinstance(table, bytes) else table.encode())
    maps.write_text(toml, encoding="utf-8")
    return columns.read(path, ReadOptions(columns=maps, **options))  # type: ignore[arg-type]


def fault(tmp_path: Path, table: str | bytes, toml: str) -> CondyleError:
    with pytest.raises(CondyleError) as error:
        read(tmp_path, table, toml)
    return error.value


def map_fault(tmp_path: Path, toml: str, table: str = HEAD + ROWS) -> str:
    """The sentence of a fault in the map, which names the map's file."""
    error = fault(tmp_path, table, toml)
    assert error.path == str(tmp_path / "map.toml")
    return error.text


def test_named_columns_are_read_under_what_the_map_says(tmp_path: Path) -> None:
    recording = read(tmp_path, HEAD + ROWS, MAP)
    assert recording.bodies is not None
    assert recording.bodies.names == ("forearm",)
    assert recording.bodies.position[:, 0].tolist() == [[k, 2, 3.5] for k in range(4)]
    assert recording.bodies.orientation[0, 0].tolist() == [0, 0, 0, 1]
    assert recording.time is not None
    np.testing.assert_allclose(recording.time, [0, 0.01, 0.02, 0.03], atol=EXACT)
    assert recording.convention.unit == "mm"
    assert recording.convention.given == {"unit"}
    assert recording.convention.rotation == "xyzw"
    assert recording.convention.stated == {"rotation"}  # by the names of the columns
    np.testing.assert_allclose(to_take(recording).p_world_body[3, 0], [0.003, 0.002, 0.0035], atol=EXACT)


@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_names_of_a_quaternions_columns_state_their_order(tmp_path: Path, order: str) -> None:
    turn = ", ".join(f'"q{part}"' for part in order)
    recording = read(tmp_path, HEAD + ROWS, f'[bodies.a]\nposition = "2-4"\norientation = [{turn}]\n')
    assert recording.convention.rotation == order
    assert recording.convention.stated == {"rotation"}
    np.testing.assert_array_equal(to_take(recording).R_world_body[0, 0], np.eye(3))


def test_numbers_name_columns_from_one_and_a_span_stands_for_several(tmp_path: Path) -> None:
    toml = '[bodies.a]\nposition = "2-4"\norientation = [5, 6, 7, 8]\n'
    recording = read(tmp_path, HEAD + ROWS, toml)
    assert recording.bodies is not None
    assert recording.bodies.position[2, 0].tolist() == [2, 2, 3.5]
    assert recording.convention.given == frozenset()
    assert recording.convention.stated == frozenset()  # numbers do not say which of the four is w


@pytest.mark.parametrize("variant", SMALL)
def test_every_kind_of_table_is_read(tmp_path: Path, variant: str) -> None:
    recording = read(tmp_path, SMALL[variant], SMALL_MAP)
    assert recording.bodies is not None
    assert recording.frames == 3
    assert recording.bodies.names == ("a", "b")
    assert recording.bodies.position[0, 1].tolist() == [4, 5, 6]
    assert recording.bodies.position[0, 0, 0] == (1.5 if variant == "decimal commas" else 1)


@pytest.mark.parametrize("recode", ["utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_encodings_and_line_ends_do_not_matter(tmp_path: Path, recode: str, end: str) -> None:
    raw = (HEAD.replace("note", "größe") + ROWS).replace("\n", end).encode(recode)
    recording = read(tmp_path, raw, MAP)
    assert recording.frames == 4


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ('separator = ";"\ndecimal = ","\n', [1.5, 2.0, 3.0]),
        ('separator = "semicolon"\n', [1.5, 2.0, 3.0]),
    ],
)
def test_separator_and_decimal_comma_can_be_said(tmp_path: Path, toml: str, expected: list[float]) -> None:
    recording = read(tmp_path, SMALL["decimal commas"], toml + SMALL_MAP)
    assert recording.bodies is not None
    assert recording.bodies.position[0, 0].tolist() == expected


def test_skipped_lines_and_the_line_of_the_header_can_be_said(tmp_path: Path) -> None:
    text = "1,2,3,4,5,6,7,8,9\nrecorded today\n" + HEAD + "ms,m,m,m,-,-,-,-,-\n" + ROWS
    assert read(tmp_path, text, "skip_rows = 2\n" + MAP).frames == 4
    assert read(tmp_path, text, "header = 3\n" + MAP).frames == 4
    error = fault(tmp_path, text, "skip_rows = 2\nheader = false\n" + MAP)
    assert "no names" in error.text


def test_a_rotation_that_is_left_out_follows_from_the_number_of_columns(tmp_path: Path) -> None:
    eye = "1,2,3," + "1,0,0,0,1,0,0,0,1\n"
    recording = read(tmp_path, eye * 3, '[bodies.a]\nposition = "1-3"\norientation = "4-12"\n')
    assert recording.convention.rotation == "matrix"
    recording = read(tmp_path, "1,2,3,90,0,0\n" * 3, '[bodies.a]\nposition = "1-3"\norientation = "4-6"\n')
    assert recording.convention.rotation == "ZYX"
    assert "rotation" not in recording.convention.given | recording.convention.stated


def test_every_field_of_a_convention_can_be_given(tmp_path: Path) -> None:
    toml = 'unit = "cm"\nup = "-z"\nhanded = "left"\nrotation = "zxy-extrinsic"\ndegrees = false\ntransposed = true\n'
    toml += 'axes = "x,-z,y"\nrate = 50\n[bodies.a]\nposition = "1-3"\norientation = "4-6"\n'
    recording = read(tmp_path, "1,2,3,0.1,0.2,0.3\n" * 3, toml)
    convention = recording.convention
    assert (convention.unit, convention.up, convention.handed) == ("cm", "-z", "left")
    assert convention.rotation == "ZXY-extrinsic"
    assert not convention.degrees
    assert convention.transposed
    assert convention.axes == ("x", "-z", "y")
    assert convention.given == {"unit", "up", "handed", "rotation", "degrees", "transposed", "axes"}
    assert recording.rate == 50
    assert recording.time is None


@pytest.mark.parametrize("last_row", [",0,0,0,1", ""])
def test_a_homogeneous_matrix_is_one_pose(tmp_path: Path, last_row: str) -> None:
    R = rotation.from_euler(np.array([0.3, 0.2, 0.1]), "ZYX")
    numbers = ",".join(f"{x:.15g}" for x in np.hstack([R, [[7], [8], [9]]]).ravel()) + last_row
    recording = read(tmp_path, (numbers + "\n") * 3, f'[bodies.a]\npose = "1-{16 if last_row else 12}"\n')
    take = to_take(recording.under(recording.convention.but(unit="m")))
    np.testing.assert_allclose(take.R_world_body[0, 0], R, atol=EXACT)
    assert take.p_world_body[0, 0].tolist() == [7, 8, 9]


def test_missing_samples_are_empty_cells_zeros_a_number_or_a_mark(tmp_path: Path) -> None:
    rows = ["1,2,3,0,0,0,1,1", ",,,,,,,1", "0,0,0,0,0,0,0,1", "-9999,2,3,0,0,0,1,1", "1,2,3,0,0,0,1,0"]
    body = '[bodies.a]\nposition = "1-3"\norientation = "4-7"\n'
    text = "\n".join(rows) + "\n"

    def gone(toml: str) -> list[bool]:
        recording = read(tmp_path, text, toml)
        assert recording.bodies is not None
        lost = np.isnan(recording.bodies.orientation[:, 0, 0])
        assert lost[:].tolist() == np.isnan(recording.bodies.position[:, 0, 0]).tolist()
        return [bool(x) for x in lost]

    assert gone(body) == [False, True, False, False, False]
    assert gone('missing = "zeros"\n' + body) == [False, True, True, False, False]
    assert gone("missing = -9999\n" + body) == [False, True, False, True, False]
    assert gone(body + "valid = 8\n") == [False, True, False, False, True]


def test_markers_are_tables_or_short_lists_beside_bodies(tmp_path: Path) -> None:
    toml = MAP + '[markers]\nA = ["bx", "by", "bz"]\n[markers.B]\nposition = "2-4"\n'
    recording = read(tmp_path, HEAD + ROWS, toml)
    assert recording.bodies is not None
    assert recording.markers is not None
    assert recording.markers.names == ("A", "B")
    assert recording.markers.position[3, 1].tolist() == [3, 2, 3.5]


LONG_MAP = 'time = "t"\nsensor = "id"\nposition = ["x", "y", "z"]\norientation = ["qw", "qx", "qy", "qz"]\n'
LONG_HEAD = "t,id,x,y,z,qw,qx,qy,qz\n"


def long_rows(stamp: float, count: int = 6) -> str:
    """Two sensors, the second `stamp` s later than the first."""
    rows = [f"{k / 100 + s * stamp:.5f},{s + 3},{k},{s},0,1,0,0,0\n" for k in range(count) for s in (0, 1)]
    return LONG_HEAD + "".join(rows)


def test_rows_of_sensors_with_one_stamp_are_one_frame(tmp_path: Path) -> None:
    recording = read(tmp_path, long_rows(0), LONG_MAP + "[bodies.hand]\nid = 4\n[bodies.arm]\nid = 3\n")
    assert recording.bodies is not None
    assert recording.bodies.names == ("hand", "arm")
    assert recording.frames == 6
    assert recording.bodies.position[:, 0].tolist() == [[k, 1, 0] for k in range(6)]
    assert recording.bodies.position[:, 1].tolist() == [[k, 0, 0] for k in range(6)]
    assert recording.time is not None
    np.testing.assert_allclose(recording.time, np.arange(6) / 100, atol=EXACT)
    assert recording.findings == ()


def test_without_a_list_of_bodies_every_id_is_one(tmp_path: Path) -> None:
    recording = read(tmp_path, re.sub(r"(?m)^([\d.]+),3,", r"\1,left,", long_rows(0)), LONG_MAP)
    assert recording.bodies is not None
    assert recording.bodies.names == ("left", "4")


def test_a_sensor_that_a_frame_lacks_is_missing_there_only(tmp_path: Path) -> None:
    lines = long_rows(0).splitlines(keepends=True)
    del lines[4]  # the second sensor's second row
    recording = read(tmp_path, "".join(lines), LONG_MAP)
    assert recording.bodies is not None
    assert recording.frames == 6
    assert np.isnan(recording.bodies.position[:, :, 0]).tolist() == [[False, k == 1] for k in range(6)]


def test_sensors_asked_one_after_the_other_are_one_frame(tmp_path: Path) -> None:
    recording = read(tmp_path, long_rows(0.0004), LONG_MAP)
    assert recording.frames == 6
    assert recording.time is not None
    np.testing.assert_allclose(recording.time, np.arange(6) / 100 + 0.0002, atol=EXACT)


def test_sensors_with_clocks_of_their_own_are_put_on_one_and_that_is_told(tmp_path: Path) -> None:
    recording = read(tmp_path, long_rows(0.004, 20), LONG_MAP)
    assert [finding.code for finding in recording.findings] == ["common-clock"]
    assert recording.bodies is not None
    assert recording.time is not None
    seen = np.isfinite(recording.bodies.position[:, 1, 0])
    np.testing.assert_allclose(
        recording.bodies.position[seen, 1, 0], (recording.time[seen] - 0.004) * 100, atol=INTERPOLATED
    )


def test_a_frame_number_groups_rows_whatever_their_stamps(tmp_path: Path) -> None:
    lines = [f"{k * 0.01 + s * 0.004},{k},{s},{k},{s},0,1,0,0,0\n" for k in range(5) for s in (0, 1)]
    text = "t,frame," + LONG_HEAD.partition(",")[2] + "".join(lines)
    recording = read(tmp_path, text, 'frame = "frame"\n' + LONG_MAP)
    assert recording.frames == 5
    assert recording.findings == ()


def test_rows_sorted_by_sensor_are_grouped_by_their_stamps(tmp_path: Path) -> None:
    lines = long_rows(0).splitlines(keepends=True)
    text = lines[0] + "".join(lines[1::2]) + "".join(lines[2::2])
    again = read(tmp_path, text, LONG_MAP)
    plain = read(tmp_path, long_rows(0), LONG_MAP)
    assert again.bodies is not None
    assert plain.bodies is not None
    np.testing.assert_array_equal(again.bodies.position, plain.bodies.position)


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        (MAP.replace("unit =", "units ="), "units: no such key; did you mean 'unit'"),
        (MAP.replace('"bx"', '"b_x"'), "[bodies.forearm] position: no column 'b_x' in log.csv; did you mean 'bx'"),
        (MAP.replace('"bx"', "10"), "no column 10 in log.csv, which has 9"),
        (MAP.replace('"bx", ', ""), "[bodies.forearm] position: names 2 columns, expected 3"),
        (MAP.replace('"qx", ', ""), "[bodies.forearm] orientation: names 3 columns, and one of them is the w"),
        ('rotation = "ZYX"\n' + MAP, "[bodies.forearm] orientation: names 4 columns, expected 3"),
        (MAP.replace("mm", "ell"), "unit: no unit of length named 'ell'; choose from m, cm, mm"),
        (MAP.replace("ms", "min"), "time_unit: is one of s, ms, us, ns, not 'min'"),
        ("rate = 10\n" + MAP, "give time or rate, not both"),
        ("rate = -1\n" + MAP.replace('time = "t"\n', ""), "rate: is a positive number"),
        ('rotation = "qwerty"\n' + MAP, "rotation: no rotation"),
        ('axes = "x,y,y"\n' + MAP, "axes: "),
        ('up = "north"\n' + MAP, "up: is one of x, y, z"),
        ("degrees = 1\n" + MAP, "degrees: is true or false"),
        ('missing = "dots"\n' + MAP, 'missing: is "zeros" or the number'),
        ("header = 0\n" + MAP, "header: is the line"),
        ("skip_rows = -1\n" + MAP, "skip_rows: is a number of lines"),
        ('separator = "x"\n' + MAP, "separator: is one of comma, semicolon"),
        (MAP + "colour = 3\n", "[bodies.forearm] colour: no such key"),
        (MAP + "id = 3\n", "[bodies.forearm] id: has a meaning only with the key sensor"),
        ("unit = 'mm'\n", "bodies: the map names no columns"),
        ("bodies = 3\n", "bodies: is a table"),
        ("[bodies]\nhand = 3\n", "[bodies.hand]: is a table"),
        ('[bodies.hand]\nposition = "2-4"\n', "[bodies.hand] orientation: is not given; a thing"),
        ('[bodies.hand]\norientation = "2-4"\n', "[bodies.hand] position: is not given"),
        ('[bodies.hand]\nposition = 3\norientation = "2-4"\n', "[bodies.hand] position: is a list of 3 columns"),
        ('position = "2-4"\n', "position: belongs into a table"),
    ],
)  # fmt: skip
def test_a_fault_of_the_map_is_one_sentence_with_the_file_the_key_and_the_choices(
    tmp_path: Path, toml: str, said: str
) -> None:
    assert said in map_fault(tmp_path, toml)


def test_an_id_that_no_row_has_is_an_error_with_those_there_are(tmp_path: Path) -> None:
    said = map_fault(tmp_path, LONG_MAP + "[bodies.hand]\nid = 7\n", long_rows(0))
    assert "[bodies.hand] id: no row has '7' in column 'id'; choose from 3, 4" in said
    said = map_fault(tmp_path, LONG_MAP + '[bodies.a]\nid = 3\n[bodies.b]\nid = "3.0"\n', long_rows(0))
    assert "'3' is the id of 'a' already" in said


def test_a_map_that_is_no_toml_is_told_with_its_line(tmp_path: Path) -> None:
    error = fault(tmp_path, HEAD + ROWS, "unit = 'mm'\ntime = \n")
    assert error.code == "bad-columns"
    assert error.path == str(tmp_path / "map.toml")
    assert error.line == 2


def test_two_columns_of_one_name_need_a_number(tmp_path: Path) -> None:
    error = fault(tmp_path, HEAD.replace("by", "bx") + ROWS, MAP)
    assert error.code == "duplicate-column"
    assert "give its number" in error.text


def test_a_map_that_is_not_there_or_not_given_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(HEAD + ROWS)
    with pytest.raises(CondyleError) as error:
        columns.read(path, ReadOptions(columns=tmp_path / "none.toml"))
    assert error.value.code == "no-such-file"
    assert error.value.path == str(tmp_path / "none.toml")
    with pytest.raises(UsageError, match="--columns"):
        columns.read(path, ReadOptions())


def test_a_bad_number_is_told_with_line_and_column_if_it_is_read_at_all(tmp_path: Path) -> None:
    error = fault(tmp_path, HEAD + ROWS.replace("2,3.5", "2,3.5x", 2), MAP)
    assert (error.code, error.line, error.column) == ("bad-number", 2, 4)
    error = fault(tmp_path, HEAD + ROWS.replace("0,0,0,1", "0,0,1", 2), MAP)
    assert (error.code, error.line) == ("ragged-row", 2)
    assert read(tmp_path, HEAD + ROWS.replace("ok", '"what, ever"'), MAP).frames == 4  # nobody asked for it


def test_a_time_that_is_missing_is_an_error(tmp_path: Path) -> None:
    error = fault(tmp_path, HEAD + ROWS.replace("\n20,", "\n,"), MAP)
    assert (error.code, error.frame) == ("bad-time", 2)


@pytest.mark.parametrize("variant", SMALL)
@pytest.mark.sized
def test_a_table_cut_at_any_byte_is_read_or_refused(tmp_path: Path, variant: str) -> None:
    for cut, recording in read_cuts(SMALL[variant], lambda cut: read(tmp_path, cut, SMALL_MAP)):
        assert recording.frames == cut.count(b"\n") - (variant == "header")
        assert ("truncated-file" in codes(recording)) == (not cut.endswith(b"\n"))


@pytest.mark.parametrize("text", ["", "\n\n", HEAD, "only words\nand more words\n"])
def test_a_table_without_numbers_has_no_data(tmp_path: Path, text: str) -> None:
    assert fault(tmp_path, text, MAP).code == "no-data"


def test_no_file_is_claimed() -> None:
    assert not any(columns.looks_like(raw) for raw in SMALL.values())


def test_two_vr_trackers_are_read_by_their_columns(tmp_path: Path, shared_data: Path) -> None:
    maps = tmp_path / "map.toml"
    maps.write_text(
        'unit = "m"\nhanded = "left"\nrotation = "xyzw"\nrate = 90\n'
        "[bodies.forearm]\nposition = '1-3'\norientation = '7-10'\n"
        "[bodies.hand]\nposition = '4-6'\norientation = '11-14'\n"
    )
    path = shared_data / "vr_tundra" / "000_tracker_data_record.csv"
    take = to_take(columns.read(path, ReadOptions(columns=maps)))
    assert take.names == ("forearm", "hand")
    plain = np.array([line.split(",") for line in path.read_text().splitlines()[: take.frames]], float)
    np.testing.assert_allclose(take.p_world_body[:, 1], plain[:, 3:6] * [-1, 1, 1], atol=EXACT)
    assert np.linalg.det(take.R_world_body[take.seen]).min() > 0.99


def test_markers_of_a_linkage_are_read_by_their_names(tmp_path: Path, shared_data: Path) -> None:
    path = next((shared_data / "diodem/arm/exp01/motion02_pause1").glob("*.csv"))
    maps = tmp_path / "map.toml"
    names = [f"seg{s}_marker{k}" for s in range(1, 6) for k in range(1, 5)]
    maps.write_text("rate = 30\n" + "".join(f"markers.{n} = ['{n}_x', '{n}_y', '{n}_z']\n" for n in names))
    recording = columns.read(path, ReadOptions(columns=maps))
    assert recording.markers is not None
    assert recording.markers.names == tuple(names)
    first = [float(x) for x in path.read_text().splitlines()[3].split(",")]
    np.testing.assert_allclose(recording.markers.position[0, 4], first[16:19], atol=EXACT)
