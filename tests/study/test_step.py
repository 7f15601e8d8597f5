"""One take done, in this process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import condyle
from condyle.findings import Finding
from condyle.io.folder import lock_folder
from condyle.result.verdict import add_verdict
from condyle.study import step as module
from condyle.study.ledger import fail
from condyle.study.step import describe_skeleton, run_step
from tests.make.performers import fit_chain, open_last
from tests.make.studies import QUICK, make_step, write_small_take


def test_a_step_gives_what_a_fit_of_its_file_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_small_take(tmp_path / "in" / "a.npz")
    step = make_step(tmp_path / "in", tmp_path / "out", settings={"report": False, "export": "bvh"})
    record = run_step(step)
    monkeypatch.chdir(tmp_path / "in")
    alone = condyle.fit("a.npz").save(tmp_path / "alone", report=False, export="bvh")
    assert record.state == "done"
    assert record.facts == describe_skeleton(alone.skeleton)
    there = {path.name: path.read_bytes() for path in Path(step.folder).iterdir()}
    assert there == {path.name: path.read_bytes() for path in (tmp_path / "alone").iterdir()}
    assert record.cpu > 0
    assert record.wall > 0


def test_lengths_are_named_by_neighbours_whichever_root_was_chosen(tmp_path: Path) -> None:
    write_small_take(tmp_path / "a.npz")
    limbs = []
    for root in ("link0", "link3"):
        record = run_step(make_step(tmp_path, tmp_path / root, settings={**QUICK, "root": root}))
        assert record.facts is not None
        limbs.append({(limb.body, limb.from_body, limb.to_body) for limb in record.facts.limbs})
    assert limbs[0] == limbs[1]
    assert limbs[0]


def test_a_length_to_an_axis_is_the_same_wherever_on_it_the_point_is_given() -> None:
    skeleton = open_last(fit_chain(1))
    *others, last = skeleton.joints
    moved = replace(last, p_parent_joint=last.p_parent_joint + 0.04 * last.axis_parent)
    told = []
    for joint in (last, moved):
        facts = describe_skeleton(replace(skeleton, joints=(*others, joint)))
        told.append(next(limb for limb in facts.limbs if last.child in (limb.from_body, limb.to_body)))
    assert told[0].axes == (last.child,)
    assert told[0].length == pytest.approx(told[1].length, abs=1e-9)
    assert told[0].low is not None
    assert told[0].low < told[0].length < told[0].high  # type: ignore[operator]


def test_a_take_that_cannot_be_read_fails_with_its_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"PK")
    record = run_step(make_step(tmp_path, tmp_path / "out"))
    assert record.state == "failed"
    assert record.fault is not None
    assert record.fault.text.startswith("a.npz: this seems to be")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (MemoryError(), "out-of-memory", "a.npz: not enough memory for this recording; try it with fewer workers"),
        (ZeroDivisionError("by\nzero"), "internal-error", "a.npz: a fault of condyle itself, ZeroDivisionError: by;"),
    ],
)
def test_whatever_goes_wrong_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, code: str, text: str
) -> None:
    def raise_it(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("condyle.api.fit_with", raise_it)
    fault = run_step(make_step(tmp_path, tmp_path / "out")).fault
    assert fault is not None
    assert fault.code == code
    assert fault.text.startswith(text)
    assert ("Traceback" in fault.trace) == (code == "internal-error")


def test_a_folder_that_another_process_writes_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_small_take(tmp_path / "a.npz")
    step = make_step(tmp_path, tmp_path / "out")
    Path(step.folder).mkdir(parents=True)
    with lock_folder(Path(step.folder)):
        monkeypatch.setattr(module, "STEP_LONGEST_WAIT_S", 0.0)
        fault = run_step(step).fault
    assert fault is not None
    assert fault.code == "folder-busy"
    assert run_step(step).state == "done"


def test_advice_is_given_where_a_fit_is_not_good(tmp_path: Path) -> None:
    write_small_take(tmp_path / "a.npz", motion="still")
    record = run_step(make_step(tmp_path, tmp_path / "out"))
    assert record.facts is not None
    assert record.facts.tone == "bad"
    assert record.facts.worst is not None
    assert record.facts.worst.code == "tree-not-determined"


def test_a_step_that_was_not_done_has_a_record_too(tmp_path: Path) -> None:
    step = replace(make_step(tmp_path, tmp_path / "out"))
    record = fail(step, "why", code="worker-died", tries=2)
    assert (record.take, record.key, record.state, record.tries) == (step.name, step.key, "failed", 2)


def test_a_later_take_is_not_advised_to_move_more() -> None:
    weak = add_verdict(open_last(replace(fit_chain(1), findings=(Finding("sensor-moved", "warning", "it moved"),))))
    assert describe_skeleton(weak).advice
    later = replace(weak, take={**weak.take, "calibration": {"fit_id": "a", "sources": []}})
    assert describe_skeleton(add_verdict(later)).advice == ()
