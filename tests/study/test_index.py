"""The page over all takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from condyle.study import index
from condyle.study.index import do_not_overlap, write_index
from condyle.study.ledger import LedgerRecord, fail
from condyle.study.plan import Entry, TakeStep, make_steps
from tests.make.studies import make_record
from tests.report.browser import HOSTILE, chromium


def study(folder: Path) -> tuple[tuple[TakeStep, ...], dict[str, LedgerRecord]]:
    listed = [
        Entry("anna/monday", ("a.npz",), "anna", "monday"),
        Entry("anna/friday", ("b.npz",), "anna", "friday"),
        Entry("ben/rom", ("c.npz",), HOSTILE[0], "monday"),
        Entry("odd #1?", ("d.npz",), settings={"report": False}),
        Entry("bad", ("bad.npz",)),
        Entry("later", ("later.npz",)),
    ]
    steps = make_steps(folder, listed, folder)
    records = [
        make_record(steps[0], length=0.400),
        make_record(steps[1], length=0.420),
        make_record(steps[2], "bad"),
        make_record(steps[3], "look"),
        fail(steps[4], f"bad.npz: {HOSTILE[0]}", code="empty-file"),
    ]
    return steps, {record.take: record for record in records}


def write(folder: Path) -> str:
    steps, records = study(folder)
    path = write_index(folder, steps, lambda step: records.get(step.name), ["1 file passed over: <i>"])
    return path.read_text(encoding="utf-8")


def test_the_page_tells_how_many_are_done_and_what_to_look_at_first(tmp_path: Path) -> None:
    page = write(tmp_path)
    assert "4 of 6 takes done, 1 failed, 1 not yet. 2 good, 1 to look at, 1 bad." in page
    first = re.search(r'<ul class="first">(.*?)</ul>', page, re.DOTALL)
    assert first is not None
    assert re.findall(r'class="tone (\w+)"', first[1]) == ["failed", "bad", "look"]
    assert "More motion would help: b: turn it about a second axis" in first[1]


def test_every_take_is_linked_to_its_page(tmp_path: Path) -> None:
    page = write(tmp_path)
    assert 'href="takes/anna/monday/report.html"' in page
    assert 'href="takes/odd%20%231%3F/"' in page, "its folder, since it has no page"
    assert 'href="takes/bad' not in page


def test_lengths_of_a_performer_stand_beside_each_other_and_are_marked_where_they_differ(tmp_path: Path) -> None:
    page = write(tmp_path)
    assert "1 of 1 differ by more than their intervals" in page
    assert '<tr class="apart">' in page
    assert "400.0 (398.0 to 402.0)" in page
    _, records = study(tmp_path)
    limbs = [record.facts.limbs[0] for record in records.values() if record.facts is not None]
    assert do_not_overlap(limbs[:2])
    assert not do_not_overlap(limbs[:1])
    assert not do_not_overlap([limbs[0], limbs[0]])


def test_a_length_to_an_axis_is_not_held_against_one_to_a_centre(tmp_path: Path) -> None:
    steps, records = study(tmp_path)
    friday = records["anna/friday"]
    assert friday.facts is not None
    limb = replace(friday.facts.limbs[0], axes=("c",))
    records["anna/friday"] = replace(friday, facts=replace(friday.facts, limbs=(limb,)))
    page = write_index(tmp_path, steps, lambda step: records.get(step.name), []).read_text(encoding="utf-8")
    assert "differ by more" not in page
    assert page.count(" (axis)</span>") == 1


def test_a_take_without_joints_has_none_found_not_none_of_none(tmp_path: Path) -> None:
    steps, records = study(tmp_path)
    still = records["anna/friday"]
    assert still.facts is not None
    records["anna/friday"] = replace(still, facts=replace(still.facts, count=0, sure=0))
    page = write_index(tmp_path, steps, lambda step: records.get(step.name), []).read_text(encoding="utf-8")
    assert "none found" in page
    assert "0 of 0" not in page


def test_nothing_from_a_file_is_code(tmp_path: Path) -> None:
    page = write(tmp_path)
    assert "<img" not in page
    assert page.count("<script>") == 1
    assert "&lt;i&gt;" in page


def test_of_very_many_only_the_first_are_told_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "MOST_FIRST", 1)
    monkeypatch.setattr(index, "MOST_SESSIONS", 1)
    page = write(tmp_path)
    assert "and 2 more in the table below" in page
    assert "and 1 more in limbs.csv" in page
    assert page.count("<tr data-tone=") == 6


def test_a_study_of_good_takes_has_nothing_to_look_at(tmp_path: Path) -> None:
    steps = make_steps(tmp_path, [Entry("a", ("a.npz",))], tmp_path)
    page = write_index(tmp_path, steps, make_record, []).read_text()
    assert "What to look at" not in page
    assert "Performers" not in page


@pytest.mark.costly
def test_a_browser_shows_it_without_a_word_wide_and_narrow_light_and_dark(tmp_path: Path) -> None:
    playwright = chromium()
    write(tmp_path)
    from tests.report.browser import CHROMIUM, FLAGS

    said: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        for width, scheme in ((1280, "light"), (390, "dark")):
            page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.goto((tmp_path / "index.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.fill("input[type=search]", "anna fri")
            assert page.locator(".takes tbody tr:visible").count() == 1
            page.fill("input[type=search]", "")
            page.click("button[data-tone=failed]")
            assert page.locator(".takes tbody tr:visible").count() == 1
            paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
            assert paper == ("rgb(246, 245, 241)" if scheme == "light" else "rgb(15, 18, 20)")
        browser.close()
    assert not said
