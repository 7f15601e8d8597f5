"""Takes are fitted as they were when the table was written."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.make import recordings
from tests.make.size import GOLDEN_STEP
from tests.real.files import FILES

from . import table
from .cases import cases
from .fitting import fit_take
from .table import Golden, compare, rows_of, settle

SHOWN = 12  # differences of a take that are printed
GOLDENS = {file: table.read_table(file) for file in table.FILES}
ALL = {name: golden for goldens in GOLDENS.values() for name, golden in goldens.items()}
LINKAGE = "linkage, exercise, white"
AGAIN = "as it should be? `uv run python -m tests.goldens --only TEXT` renews the takes whose name contains TEXT"
there = pytest.mark.skipif(not recordings.DATA.is_dir(), reason=recordings.ABSENT)


def takes() -> list[object]:
    """Names of the takes to compare; those of recordings are skipped where these are absent."""
    return [
        pytest.param(name, marks=[there] if file == "recorded" else [])
        for file, goldens in GOLDENS.items()
        for name in list(goldens)[::GOLDEN_STEP]
    ]


@pytest.mark.sized
@pytest.mark.parametrize("name", takes())
def test_a_take_is_fitted_as_before(name: str) -> None:
    different = compare(name, ALL[name], rows_of(fit_take(cases()[name])))
    more = [f"and {len(different) - SHOWN} more"] if len(different) > SHOWN else []
    text = "\n".join([f"{len(different)} fields differ", *map(str, different[:SHOWN]), *more, AGAIN])
    assert not different, text


@there
def test_the_table_has_every_case_and_no_other() -> None:
    assert {name: bool(case.files) for name, case in cases().items()} == {
        name: file == "recorded" for file, goldens in GOLDENS.items() for name in goldens
    }


@there
def test_every_recording_is_among_the_takes() -> None:
    used = {path for case in cases().values() for path in case.files}
    assert used == {recordings.DATA / file.path for file in FILES}


def test_most_places_and_lengths_are_compared_to_a_hundredth_of_a_nanometre() -> None:
    counts = table.count_tolerances(ALL.values())
    for field in ("joints.p_first", "joints.p_second", "limbs.length"):
        near = sum(counts[field][size] for size in ("floor", "1e-12", "1e-11"))
        assert near > 0.7 * counts[field].total(), (field, counts[field])


def changed(golden: Golden, section: str, field: str, change) -> tuple[Golden, str]:
    """The same with one field changed, and the name of its row."""
    key = next(key for key, fields in golden.rows.items() if key[0] == section and fields[field] is not None)
    fields = {**golden.rows[key], field: change(golden.rows[key][field])}
    return replace(golden, rows={**golden.rows, key: fields}), " ".join(key)


@pytest.mark.parametrize(
    ("section", "field", "change"),
    [
        ("take", "roots", lambda names: ["elsewhere"]),
        ("joints", "kind", lambda kind: "hinge"),
        ("joints", "child", lambda name: "elsewhere"),
        ("joints", "p_first", lambda p: [p[0], p[1] + 1e-9, p[2]]),
        ("joints", "p_second", lambda p: [p[0] + 1e-9, p[1], p[2]]),
        ("joints", "residual", lambda length: length + 1e-9),
        ("joints", "turned", lambda angles: [angles[0] * 1.0001, *angles[1:]]),
        ("joints", "margin", lambda ratio: ratio * 1.0001),
        ("joints", "covariance", lambda values: [values[0] * 1.001, *values[1:]]),
        ("limbs", "length", lambda length: length + 1e-9),
        ("limbs", "high", lambda length: None),
        ("sensors", "position", lambda noise: noise * 1.0001),
        ("findings", "severity", lambda word: "error"),
        ("findings", "numbers", lambda numbers: [*numbers, "3"]),
    ],
)
def test_a_field_that_changed_is_named_with_both_values(section: str, field: str, change) -> None:
    golden = ALL[LINKAGE]
    other, row = changed(golden, section, field, change)
    (found,) = compare(LINKAGE, golden, other.rows)
    assert str(found).startswith(f"{LINKAGE}: {row}, {field}\n    golden ")
    assert "\n    now    " in str(found)


def test_rows_that_came_or_went_are_named() -> None:
    golden = ALL[LINKAGE]
    joint = next(key for key in golden.rows if key[0] == "joints")
    fewer = {key: fields for key, fields in golden.rows.items() if key != joint}
    (gone,) = compare(LINKAGE, golden, fewer)
    assert str(gone) == f"{LINKAGE}: {' '.join(joint)}\n    golden is there\n    now    is not there"
    (come,) = compare(LINKAGE, replace(golden, rows=fewer), golden.rows)
    assert str(come).endswith("golden is not there\n    now    is there")


def test_an_error_is_kept_by_its_code() -> None:
    golden = settle([rows_of({"error": "one-sensor"})])
    assert compare("x", golden, rows_of({"error": "one-sensor"})) == []
    (found,) = compare("x", golden, rows_of({"error": "no-data"}))
    assert (found.golden, found.now) == ("one-sensor", "no-data")
    assert compare(LINKAGE, ALL[LINKAGE], rows_of({"error": "no-data"}))


def test_what_moved_when_the_table_was_written_may_move_a_hundred_times_as_far() -> None:
    rows = ALL[LINKAGE].rows
    golden = Golden(rows, {})
    moved, row = changed(golden, "limbs", "length", lambda length: length + 1e-10)
    kind, other = changed(golden, "joints", "kind", lambda kind: "hinge")
    settled = settle([rows, moved.rows, kind.rows])
    assert {" ".join(key): fields for key, fields in settled.allowed.items()} == {
        row: {"length": pytest.approx(1e-8)},
        other: {"kind": None},
    }
    far, _ = changed(golden, "limbs", "length", lambda length: length + 0.9e-8)
    further, _ = changed(golden, "limbs", "length", lambda length: length + 1.1e-8)
    assert compare(LINKAGE, settled, far.rows) == []
    assert len(compare(LINKAGE, settled, further.rows)) == 1


@pytest.mark.parametrize(
    ("old", "new", "near"),
    [
        ("8.5", "8.6", True),
        ("8.5", "8.7", False),
        ("17", "18", True),
        ("17", "19", False),
        ("12345", "12350", True),
        ("1e-06", "2e-06", True),
        ("-3", "3", False),
    ],
)
def test_numbers_in_sentences_are_compared_loosely(old: str, new: str, near: bool) -> None:
    assert (table.distance(table.WORDS, [old], [new]) <= table.WORDS.floor) == near


def test_numbers_are_found_in_sentences_but_not_in_names() -> None:
    text = "seg1_marker2 of link3 came 12.5 mm (3 of 14 frames, 1e-05) from p2; -0.5 deg."
    assert table.NUMBER.findall(text) == ["12.5", "3", "14", "1e-05", "-0.5"]


def test_a_table_is_read_as_it_was_written(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "FOLDER", tmp_path)
    golden = ALL[LINKAGE]
    joint = next(key for key in golden.rows if key[0] == "joints")
    odd = Golden(golden.rows, {joint: {"kind": None, "residual": 1e-7}, ("loops", "a", "b"): {}})
    refused = Golden(rows_of({"error": "one-sensor"}), {})
    table.write_table("simulated", {"odd": odd, "refused": refused}, {"about": "x"})
    assert table.read_table("simulated") == {"odd": odd, "refused": refused}
    assert json.loads((tmp_path / "simulated.json").read_text())["about"] == "x"
