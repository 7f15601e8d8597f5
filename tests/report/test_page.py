"""The page in a browser: what it shows, what a hand does to it, and that it stays at home."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from condyle.report.page import build_page
from condyle.report.server import serve_page
from tests.make.size import SIZE, pick

from .browser import CHROMIUM, FLAGS, HOSTILE, SLIP, chromium, opened, page_of

PAGES = ("demo", "linkage", "two", "slip", "undetermined", "hostile")
CONTRAST = 4.5  # of text against its ground, as WCAG AA asks
SHOWN_MM = 0.051  # half of the last digit that the page shows
SHADES = 200  # colours of a lit figure; an empty room has two
BESIDE = 13  # px from a joint to its name, on either side
SCRUB = """frame => {
    const range = document.querySelector('.track input');
    range.value = frame;
    range.dispatchEvent(new Event('input'));
}"""
LISTEN = """() => {
    window.clicks = 0;
    window.print = () => {};
    for (const draw of ['drawElements', 'drawElementsInstanced', 'drawArrays', 'drawArraysInstanced'])
        WebGL2RenderingContext.prototype[draw] = () => {}; // what is pressed is not looked at
    addEventListener('click', () => window.clicks++, true);
}"""
PLAYING = "() => [document.querySelector('.play').classList.contains('pausing'), clicks]"
# The next control that a hand can press, in the page or in a dialog that is opened for it; text fields are for words.
NEXT_CONTROL = """([tried, oneOfAKind]) => {
    const pressable = 'button, summary, a, select, input:not([type=text]), [role=button], [role=tab], [tabindex]';
    const place = e => e.parentElement ? `${place(e.parentElement)}/${[...e.parentElement.children].indexOf(e)}` : '';
    const kind = e => `${e.parentElement.className?.baseVal ?? e.parentElement.className} ${e.localName}`;
    const name = e => oneOfAKind ? kind(e) : place(e);
    document.querySelectorAll('[data-control]').forEach(e => delete e.dataset.control);
    document.querySelectorAll('dialog[open]').forEach(d => d.close());
    document.querySelectorAll('details').forEach(d => d.open = true);
    document.querySelector('.play.pausing')?.click(); // what rests is faster to press
    for (const room of [document.querySelector('body'), ...document.querySelectorAll('dialog')]) {
        if (room.localName === 'dialog') room.showModal();
        const found = [...room.querySelectorAll(pressable)].find(e =>
            e.getBoundingClientRect().width && !e.disabled && !tried.includes(name(e)));
        if (found) {
            found.dataset.control = '';
            found.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
            const {x, y, width, height} = found.getBoundingClientRect();
            const middle = [x + width / 2, y + height / 2];
            return {name: name(found), told: `${kind(found)}: ${found.getAttribute('aria-label') ?? found.textContent}`,
                middle, choices: found.options?.length, isOver: found.contains(document.elementFromPoint(...middle))};
        }
        if (room.localName === 'dialog') room.close();
    }
    return null;
}"""
ONE_OF_A_KIND = SIZE == "light"
FEWEST_CONTROLS = pick(10, 30, 30)
MOMENT_S = 0.6  # by which the moment of a slip may be missed


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium().sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """report.html of a world by its name, made when it is first asked for."""
    made: dict[str, Path] = {}

    def page(name: str) -> Path:
        if name not in made:
            chromium()
            made[name] = page_of(tmp_path_factory.mktemp(name), name)
        return made[name]

    return page


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_opens_without_a_word_to_the_console_and_asks_for_nothing(browser, pages, name: str, width: int) -> None:
    path = pages(name)
    with opened(browser, path.as_uri(), width) as seen:
        data = build_page(path.parent)
        assert seen.said == []
        assert seen.asked == [path.as_uri()]
        said = seen.text(".sentence").replace("\xa0", " ")
        assert said.endswith(data.verdict.text) or name == "hostile"
        assert len(seen.page.query_selector_all(".pressing .finding")) == sum(
            f.severity != "info" for f in data.findings
        )
        too_wide = seen.page.evaluate(
            "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert too_wide == 0
        assert seen.colours() > SHADES


@pytest.mark.parametrize("name", ["demo", "undetermined"])
def test_playing_moves_the_figure(browser, pages, name: str) -> None:
    with opened(browser, pages(name).as_uri(), 700, 600) as seen:
        before = seen.picture()
        assert seen.picture() == before  # nothing moves by itself
        first = seen.frame()
        seen.page.click(".play")
        seen.page.wait_for_function(f"() => document.querySelector('.track input').valueAsNumber > {first + 10}")
        seen.page.click(".play")
        stopped = seen.frame()
        assert seen.picture() != before
        assert seen.frame() == stopped


def test_a_joint_selected_anywhere_is_selected_everywhere(browser, pages) -> None:
    with opened(browser, pages("demo").as_uri()) as seen:
        page = seen.page

        def selected() -> set[str]:
            seen.settle()
            return {
                seen.text(".plot-head h3"),
                seen.text("#residuals .multiple[aria-selected=true] .name"),
                seen.text(".selection h3 bdi"),
                seen.text("#tables .data-table:first-child tr[aria-selected=true] th"),
                page.text_content(".tree .node.selected .name"),
                seen.text(".label.strong"),
            }

        page.click("#tables .data-table:first-child tbody tr:has-text('r_hand')")
        assert selected() == {"r_hand"}
        hand = page.locator(".chart canvas").screenshot()
        picture = seen.picture()
        page.click(".tree .node:has-text('l_foot')")
        assert selected() == {"l_foot"}
        assert page.locator(".chart canvas").screenshot() != hand
        assert seen.picture() != picture
        page.click("#residuals .multiple:has-text('head')")
        assert selected() == {"head"}
        page.keyboard.press("j")
        assert len(selected()) == 1
        assert selected() != {"head"}


@pytest.mark.costly
def test_angles_follow_the_scrubber_and_the_selection(browser, pages) -> None:
    with opened(browser, pages("demo").as_uri()) as seen:
        page, panel = seen.page, "#angles .multiple:has-text('knee flexion')"
        before = page.text_content(f"{panel} .number")
        page.click(panel)
        assert page.get_attribute(panel, "aria-selected") == "true"
        assert seen.text(".selection h3 bdi") in ("l_shank", "r_shank")
        rows = page.locator("#angles .data-table tr[aria-selected=true]").all_text_contents()
        assert len(rows) == 3
        assert all(row.startswith("knee") for row in rows)
        page.click(panel)
        assert page.locator("#angles .data-table tr[aria-selected=true]").all_text_contents() != rows, "the other side"
        page.keyboard.press("End")
        seen.settle()
        assert page.text_content(f"{panel} .number") != before


@pytest.mark.costly
def test_a_click_on_a_joint_of_the_figure_selects_it(browser, pages) -> None:
    with opened(browser, pages("linkage").as_uri()) as seen:
        page = seen.page
        page.click(".tree .node:has-text('head')")
        page.evaluate("() => scrollTo(0, 0)")
        seen.settle()
        label = page.locator(".label.strong").bounding_box()
        page.keyboard.press("Escape")
        seen.settle()
        assert page.query_selector(".label.strong:not([hidden])") is None
        found = set()
        for x in (label["x"] - BESIDE, label["x"] + label["width"] + BESIDE):
            page.mouse.click(x, label["y"] + label["height"] / 2)
            found.add(page.text_content(".selection"))
        assert any(text.startswith("head ball joint") for text in found), found


def test_the_gaps_it_shows_are_those_of_the_motion_file(browser, pages) -> None:
    path = pages("demo")
    data = build_page(path.parent)
    with np.load(path.parent / "motion.npz") as motion:
        gap = np.linalg.norm(motion["gap"], axis=-1)
    with opened(browser, path.as_uri()) as seen:
        for joint in (0, 5, 13):
            seen.page.click(f"#residuals .multiple:nth-child({joint + 1})")
            for frame in (0, 100, 333):
                seen.page.evaluate(SCRUB, frame)
                shown = seen.page.text_content(".selection dl > div:nth-child(3) b")
                if np.isfinite(gap[frame, joint]):
                    allowed = SHOWN_MM + 1000 * data.joints[joint].gap_step / 2
                    assert abs(float(shown) - 1000 * gap[frame, joint]) < allowed, (joint, frame)
                else:
                    assert shown == "–"


@pytest.mark.costly
def test_a_slip_stands_first_and_leads_to_its_moment(browser, pages) -> None:
    with opened(browser, pages("slip").as_uri()) as seen:
        first = seen.page.locator(".pressing .finding").first
        assert first.locator(".deed").inner_text().startswith("Fasten l_thigh better: it moved ")
        first.click()
        assert abs(seen.frame() / 30.0 - SLIP.time) < MOMENT_S
        assert seen.text(".plot-head h3") == "l_thigh"


@pytest.mark.costly
def test_the_sensor_that_slipped_is_drawn_where_it_sat_from_then_on(browser, pages) -> None:
    with opened(browser, pages("slip").as_uri()) as seen:
        (slip,) = build_page(pages("slip").parent).slips
        assert np.linalg.norm(slip.shift) == pytest.approx(np.linalg.norm(SLIP.displacement), rel=0.3)
        seen.page.select_option(".pick select >> nth=-1", "figure")  # joints are not orange then
        counts = []
        for moment in (SLIP.time - 3, SLIP.time + 3):
            seen.page.evaluate(SCRUB, round(30 * moment))
            seen.page.wait_for_timeout(300)
            shot = seen.page.locator(".stage > canvas >> nth=0").screenshot()
            red, green, blue = np.moveaxis(np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"), int), -1, 0)
            counts.append(int(((red > 150) & (green < 100) & (blue < 60)).sum()))
        assert counts[1] > counts[0] + 20
        assert "before the sensor was moved back" in seen.text("#residuals .plot-legend")


@pytest.mark.sized
@pytest.mark.parametrize("name", PAGES)
def test_space_plays_after_a_click_on_any_control_and_clicks_nothing_again(browser, pages, name: str) -> None:
    with opened(browser, pages(name).as_uri(), 700, 500) as seen:
        page, tried, wrong = seen.page, [], []
        page.evaluate(LISTEN)
        while (control := page.evaluate(NEXT_CONTROL, [tried, ONE_OF_A_KIND])) is not None:
            tried.append(control["name"])
            press(page, control)
            before = page.evaluate(PLAYING)
            page.keyboard.press("Space")
            if page.evaluate(PLAYING) != [not before[0], before[1]]:
                wrong.append(control["told"])
        assert wrong == []
        assert len(tried) >= FEWEST_CONTROLS


def press(page: Any, control: Any) -> None:
    """A click on the control that was found, by a hand; of a list another choice is taken."""
    if control["isOver"]:
        page.mouse.click(*control["middle"])
    else:  # its middle is empty, or something lies over it
        page.click("[data-control]")
    if control["choices"]:
        chosen = page.evaluate("() => document.querySelector('[data-control]').selectedIndex")
        page.select_option("[data-control]", index=(chosen + 1) % control["choices"])


@pytest.mark.costly
@pytest.mark.parametrize("name", ["Save", "Keys"])
def test_space_plays_after_a_dialog_that_was_clicked_open_and_presses_its_button_after_keys(
    browser, pages, name: str
) -> None:
    with opened(browser, pages("slip").as_uri()) as seen:
        shown = f"() => document.querySelector('dialog[aria-label={name}]').open"
        closed = f"() => !document.querySelector('dialog[aria-label={name}]').open"
        button = seen.page.locator("header.bar button", has_text={"Save": "Save", "Keys": "?"}[name])
        button.click()
        seen.page.wait_for_function(shown)
        seen.page.keyboard.press("Escape")
        seen.page.wait_for_function(closed)
        seen.settle()
        seen.page.keyboard.press("Space")
        seen.page.wait_for_selector("button.play.pausing")
        button.focus()
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_function(shown)
        seen.page.keyboard.press("Escape")
        seen.page.wait_for_function(closed)
        seen.settle()
        seen.page.keyboard.press("Space")
        seen.page.wait_for_function(shown)


@pytest.mark.costly
def test_space_plays_after_a_list_that_was_opened_and_closed_without_another_choice(browser, pages) -> None:
    with opened(browser, pages("demo").as_uri()) as seen:
        seen.page.evaluate(LISTEN)
        for _ in ("open", "close"):
            seen.page.click(".transport select")
            seen.page.wait_for_timeout(200)
        assert seen.page.evaluate(PLAYING) == [False, 2]
        seen.page.keyboard.press("Space")
        assert seen.page.evaluate(PLAYING) == [True, 2]


@pytest.mark.costly
def test_space_presses_a_button_that_the_keyboard_went_to(browser, pages) -> None:
    with opened(browser, pages("demo").as_uri()) as seen:
        seen.page.focus(".toggle >> nth=0")
        before, first = seen.page.get_attribute(".toggle >> nth=0", "aria-pressed"), seen.frame()
        seen.page.keyboard.press("Space")
        assert seen.page.get_attribute(".toggle >> nth=0", "aria-pressed") != before
        assert seen.frame() == first


@pytest.mark.costly
def test_an_address_leads_to_a_joint_and_a_frame_and_follows_the_reader(browser, pages) -> None:
    address = pages("demo").as_uri()
    with opened(browser, f"{address}#joint=r_hand&frame=120") as seen:
        assert seen.text(".selection h3 bdi") == "r_hand"
        assert seen.frame() == 120
        seen.page.click("#residuals .multiple:has-text('head')")
        seen.page.keyboard.press("ArrowRight")
        seen.page.wait_for_function("() => location.hash === '#joint=head&frame=121'")
        seen.page.evaluate("() => { location.hash = '#joint=l_foot&frame=7' }")
        seen.page.wait_for_function("() => document.querySelector('.selection h3 bdi').textContent === 'l_foot'")
        assert seen.frame() == 7


@pytest.mark.costly
def test_tables_and_series_are_saved_with_one_click(browser, pages) -> None:
    with opened(browser, pages("demo").as_uri()) as seen:
        seen.page.click(".bar .tools button:has-text('Save')")
        with seen.page.expect_download() as wait:
            seen.page.click(".save-dialog button:has-text('gaps.csv')")
        rows = list(csv.reader(io.StringIO(Path(wait.value.path()).read_text("utf-8-sig"))))
        data = build_page(pages("demo").parent)
        assert len(rows) == data.motion.frames + 1
        assert len(rows[0]) == 1 + len(data.joints) + len(data.loops)
        assert "condyle export " in seen.text(".save-dialog")


@pytest.mark.costly
@pytest.mark.parametrize("form", ["bvh", "urdf"])
def test_a_served_page_exports_with_one_click(browser, pages, form: str) -> None:
    with serve_page(pages("demo").parent) as server, opened(browser, server.url) as seen:
        seen.page.click(".bar .tools button:has-text('Save')")
        with seen.page.expect_download() as wait:
            seen.page.click(f".save-dialog a:text-is('{form}')")
        written = Path(wait.value.path()).read_bytes()
        assert written.startswith(b"HIERARCHY" if form == "bvh" else b"PK")


@pytest.mark.costly
def test_limbs_are_a_map_whose_colours_tell_their_intervals(browser, pages) -> None:
    with opened(browser, pages("demo").as_uri()) as seen:
        data = build_page(pages("demo").parent)
        lines = seen.page.query_selector_all(".body-map line")
        assert len(lines) == len(data.limbs)
        halves = [limb.high - limb.low for limb in data.limbs]
        colour = [line.get_attribute("stroke") for line in lines]
        assert colour[int(np.argmin(halves))] != colour[int(np.argmax(halves))]
        lines[-1].click(force=True)
        assert seen.text(".selection h3 bdi") == data.bodies[data.limbs[-1].body].name


@pytest.mark.costly
def test_the_table_of_lengths_is_whole_on_a_telephone(browser, pages) -> None:
    with opened(browser, pages("demo").as_uri(), 390, 844) as seen:
        over = seen.page.evaluate(
            "() => { const box = document.querySelector('#lengths .scroll');"
            " return Math.max(box.scrollWidth - box.clientWidth, box.scrollHeight - box.clientHeight) }"
        )
        assert over <= 0
        lines = seen.page.evaluate(
            """() => { const cut = []; for (const name of document.querySelectorAll('#lengths tbody bdi')) {
                for (const part of name.childNodes) if (part.nodeType === 3) {
                    const range = document.createRange(); range.selectNodeContents(part);
                    if (range.getClientRects().length > 1) cut.push(name.textContent);
                } } return cut }"""
        )
        assert lines == []  # names are broken behind their underscores


@pytest.mark.costly
def test_printing_waits_until_all_of_the_motion_is_there(browser, pages) -> None:
    with opened(browser, pages("demo").as_uri()) as seen:
        seen.page.add_init_script(
            """window.print = () => (window.printed = document.documentElement.dataset.motion ?? 'part');
            document.addEventListener('DOMContentLoaded', () => {
                dispatchEvent(new KeyboardEvent('keydown', { key: 'p', ctrlKey: true, cancelable: true }));
                const again = setInterval(() => {
                    if (document.querySelector('.print-note') === null) return;
                    clearInterval(again);
                    dispatchEvent(new KeyboardEvent('keydown', { key: 'p', ctrlKey: true, cancelable: true }));
                    document.querySelector(".bar .tools button:nth-child(2)").click();
                }, 1);
            });"""
        )
        seen.page.reload()
        seen.page.wait_for_function("() => window.printed !== undefined")
        assert seen.page.evaluate("() => window.printed") == "whole"


@pytest.mark.costly
def test_an_undetermined_take_is_told_and_shows_its_sensors(browser, pages) -> None:
    with opened(browser, pages("undetermined").as_uri()) as seen:
        assert seen.page.get_attribute(".verdict-part", "class") == "verdict-part bad"
        assert "joints sure" not in seen.text(".verdict-part")  # 0 of 0
        assert seen.page.query_selector("#residuals") is None
        assert seen.page.query_selector("#tables") is None
        assert len(seen.page.query_selector_all(".turn.short")) == 15
        assert " of 5°" in seen.text(".turn .number")
        assert len(seen.page.query_selector_all(".tree .node.loose")) == 15


def test_names_from_files_are_text_and_nothing_else(browser, pages) -> None:
    with opened(browser, pages("hostile").as_uri()) as seen:
        page = seen.page
        assert page.query_selector("img, iframe, object, b b, [onerror]") is None
        assert seen.said == []
        body = page.text_content("main")
        assert HOSTILE[0] in body
        assert not re.search("[\x00-\x08\x0b-\x1f\u202e\u2028]", body)
        with page.expect_download() as wait:
            page.click("#tables .data-table:first-child button:has-text('CSV')")
        rows = list(csv.reader(io.StringIO(Path(wait.value.path()).read_text("utf-8-sig"))))
        names = [row[0] for row in rows[1:]]
        assert "'" + HOSTILE[7] in names
        assert not any(re.match(r"\s*[=+\-@]", name) for name in names)


@pytest.mark.costly
def test_a_table_is_sorted_and_saved_as_it_stands(browser, pages) -> None:
    path = pages("demo")
    joints = json.loads((path.parent / "skeleton.json").read_text())["joints"]
    with opened(browser, path.as_uri()) as seen:
        page = seen.page
        table = "#tables .data-table:first-child"
        page.click(f"{table} th button:has-text('gap rms')")
        assert page.get_attribute(f"{table} th:has-text('gap rms')", "aria-sort") == "descending"
        with page.expect_download() as wait:
            page.click(f"{table} button:has-text('CSV')")
        rows = list(csv.DictReader(io.StringIO(Path(wait.value.path()).read_text("utf-8-sig"))))
        expected = sorted(joints, key=lambda joint: -joint["residual"])
        assert [row["joint"] for row in rows] == [joint["child"] for joint in expected]
        for row, joint in zip(rows, expected, strict=True):
            assert float(row["gap rms [mm]"]) == pytest.approx(1000 * joint["residual"], rel=1e-6)
            assert row["parent"] == joint["parent"]


@pytest.mark.costly
def test_the_keyboard_does_what_its_list_says(browser, pages) -> None:
    with opened(browser, pages("demo").as_uri(), 900, 700) as seen:
        page = seen.page
        start = seen.frame()
        page.keyboard.press("ArrowRight")
        assert seen.frame() == start + 1
        page.keyboard.press("Shift+ArrowRight")
        assert seen.frame() == start + 31
        page.keyboard.press("End")
        assert seen.frame() == 359
        page.keyboard.press("4")
        assert seen.text(".captions").split("\n") == ["measured", "played"]
        page.keyboard.press("x")
        assert "× 3" in seen.text(".captions")
        page.keyboard.press("?")
        assert page.is_visible(".keys-dialog")
        page.keyboard.press("Escape")
        assert not page.is_visible(".keys-dialog")
        page.focus(".stage > canvas[tabindex]")
        before = seen.picture()
        page.keyboard.press("ArrowLeft")
        assert seen.frame() == 359
        assert seen.picture() != before


@pytest.mark.costly
def test_every_control_has_a_name_for_those_who_do_not_see_it(browser, pages) -> None:
    unnamed = """() => [...document.querySelectorAll('button, select, input, [role=button], [role=img], [tabindex]')]
        .filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label') || e.title))
        .map(e => e.outerHTML)"""
    with opened(browser, pages("two").as_uri()) as seen:
        assert seen.page.evaluate(unnamed) == []
        assert seen.page.evaluate("() => document.querySelectorAll('h1').length") == 1


@pytest.mark.costly
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_their_ground(browser, pages, scheme: str) -> None:
    contrast = """() => {
        const of = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
        const light = hex => { const c = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; };
        const ratio = (a, b) => { const [x, y] = [light(of(a)), light(of(b))].sort((p, q) => q - p);
            return (x + 0.05) / (y + 0.05); };
        const words = ['--ink', '--muted', '--accent', '--good', '--warn', '--bad'];
        const grounds = ['--paper', '--sheet', '--hover'];
        return Object.fromEntries([...words.flatMap(w => grounds.map(g => [`${w} on ${g}`, ratio(w, g)])),
            ['--ink on --accent-soft', ratio('--ink', '--accent-soft')],
            ['--muted on --stage', ratio('--muted', '--stage')],
            ['--paper on --accent', ratio('--paper', '--accent')]]);
    }"""
    with opened(browser, pages("linkage").as_uri(), color_scheme=scheme) as seen:
        assert seen.page.get_attribute("html", "data-theme") == scheme
        for pair, ratio in seen.page.evaluate(contrast).items():
            assert ratio >= CONTRAST, pair
        before = seen.page.screenshot()
        seen.page.keyboard.press("d")
        assert seen.page.screenshot() != before
        assert seen.page.get_attribute("html", "data-theme") != scheme


@pytest.mark.costly
def test_it_prints(browser, pages) -> None:
    with opened(browser, pages("linkage").as_uri()) as seen:
        assert seen.page.pdf()[:5] == b"%PDF-"
        seen.page.emulate_media(media="print")
        assert not seen.page.is_visible(".scene-controls")
        assert seen.page.is_visible(".sentence")
        assert seen.said == []


def test_served_it_fetches_its_pieces_from_where_it_came_and_nothing_else(browser, pages) -> None:
    with serve_page(pages("demo").parent) as server, opened(browser, server.url) as seen:
        assert seen.said == []
        assert all(url.startswith(server.url) for url in seen.asked)
        assert any(url.endswith("pieces/0.bin") for url in seen.asked)
        assert seen.text(".selection h3 bdi")
