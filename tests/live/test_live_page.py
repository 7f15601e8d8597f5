"""The page of a session in a browser: numbers move, an alarm appears, it comes back by itself, and asks nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("websockets", reason="websockets is not installed")

from dataclasses import asdict, replace

from condyle.findings import Finding
from condyle.live.alarms import Alarm
from condyle.live.coach import Progress, Prompt
from condyle.live.guide import Guide, Picture, Routine, RoutineStep
from condyle.live.messages import encode, encode_poses
from condyle.live.server import LiveServer
from condyle.live.service import describe_solve
from condyle.live.session import Session, Solve
from condyle.maths import rotation
from condyle.model.take import Take
from tests.make.sessions import person, records, stream
from tests.report.browser import CHROMIUM, FLAGS, PATIENCE, chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium().sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield one
        one.close()


@pytest.fixture
def server() -> Iterator[LiveServer]:
    said: list[str] = []
    one = LiveServer(said.append)
    one.said = said  # type: ignore[attr-defined]
    yield one
    one.close()


@pytest.fixture(scope="module")
def take() -> Take:
    return person(seconds=8)


@pytest.fixture(scope="module")
def solve(take: Take) -> Solve:
    session = Session()
    for record in records(stream(take)):
        session.add(record)
    return session.solve()


def status(seconds: float, alarms: tuple[Alarm, ...] = (), **values: Any) -> str:
    """What a session says of itself twice a second."""
    plain = [{**asdict(one.finding), "raised": one.raised, "over": one.over} for one in alarms]
    given = {"sources": [], "frames": 240, "lost": 0, "fault": "", "trouble": "", "behind": 1.2}
    given |= {"restarts": 0, "given_up": False}
    given |= {"viewers": 1, "marks": [], "guide": None, "alarms": plain, "seconds": seconds}
    return encode("status", **(given | values))


def send_frame(server: LiveServer, take: Take, k: int) -> None:
    quaternion = rotation.to_quaternion(take.R_world_body[k])
    server.send_frame(encode_poses(float(take.time[k]), take.p_world_body[k], np.asarray(quaternion)))


def test_a_session_is_shown_from_its_first_pose_to_its_end(
    browser: Any, server: LiveServer, take: Take, solve: Solve
) -> None:
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(PATIENCE)
    told: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server.act)
    page.wait_for_function("() => document.body.innerText.includes('Waiting for the first poses')")
    server.send("bodies", encode("bodies", names=take.names))
    for k in range(5):
        send_frame(server, take, k)
    page.wait_for_selector(".stage canvas")

    server.send("solve", describe_solve(solve))
    page.wait_for_function("() => document.querySelector('.sentence').innerText.includes('Found')")
    assert solve.prompt is not None
    assert page.inner_text(".ask") == solve.prompt.text
    assert len(page.query_selector_all(".progress li")) == len(solve.progress)
    least = min(solve.progress, key=lambda one: (one.done, one.set_aside, one.share))  # stands first
    assert page.inner_text(".progress .axes") == least.axes * "●" + (3 - least.axes) * "○"
    assert page.query_selector(".alarms li") is None

    slip = Finding("slip", "warning", "r_thigh: the sensor moved 20 mm <b>", ("r_thigh",), (4.0, 4.0))
    server.send("status", status(seconds=6.0, alarms=(Alarm(slip, 2, 6.0),)))
    page.wait_for_selector(".alarms li.warning")
    assert "moved 20 mm <b>" in page.inner_text(".alarms li")
    assert page.inner_text(".sources p").startswith("6 s")
    server.send("status", status(seconds=8.6, alarms=(Alarm(slip, 2, 6.0, over=8.0),)))
    page.wait_for_selector(".alarms li.over")
    assert page.inner_text(".sources p").startswith("9 s")  # numbers move

    shown = page.evaluate("() => document.querySelector('.ask').innerText")
    further = replace(solve, prompt=Prompt("l_shank", "left knee: 80 %, twist it", (0.0, 0.0, 1.0)))
    server.send("solve", describe_solve(further))
    page.wait_for_function("() => document.querySelector('.ask').innerText.startsWith('left knee: 80 %')")
    assert shown == solve.prompt.text

    page.fill(".note", "knee strapped")
    page.click("text=Mark")
    server.send("status", status(seconds=9.0, marks=[{"seconds": 8.9, "text": "knee strapped"}]))
    page.wait_for_function("() => document.querySelector('.marks')?.innerText.includes('9 s knee strapped')")

    server._call(lambda: [viewer.transport.abort() for viewer in server._viewers])  # the stream is cut
    page.wait_for_function("() => document.querySelector('.banner').innerText.includes('Trying to reach it again')")
    page.wait_for_function("() => document.querySelector('.banner').hidden")
    page.click("text=Stop")
    page.wait_for_function("() => true")
    server.send("end", encode("end", text="The session is over."))
    page.wait_for_function("() => document.querySelector('.banner').innerText.includes('over')")
    server._call(lambda: [viewer.transport.abort() for viewer in server._viewers])  # its program is gone
    page.wait_for_timeout(200)
    assert page.inner_text(".banner") == "The session is over."
    assert server.said == ["mark knee strapped", "stop"]  # type: ignore[attr-defined]
    assert not [line for line in told if "WebSocket" not in line and "GPU" not in line]
    assert all(url.startswith(server.act) for url in asked)
    page.context.close()


@pytest.mark.parametrize("acts", [False, True])
def test_who_only_looks_has_nothing_to_press_and_it_fits_a_phone(browser: Any, server: LiveServer, acts: bool) -> None:
    page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(server.act if acts else server.look)
    page.wait_for_function("() => document.body.innerText.includes('Waiting for the first poses')")
    if acts:
        page.wait_for_selector(".act")
    assert (page.query_selector(".act") is not None) == acts
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    page.context.close()


PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cfc0000003010100"
    "c9fe92ef0000000049454e44ae426082"
)


@pytest.mark.costly
def test_a_visitor_is_led_through_a_routine(browser: Any, take: Take, solve: Solve) -> None:
    server = LiveServer(lambda _: None, pictures={"wind mill.png": Picture("image/png", PIXEL)})
    steps = (
        RoutineStep("Swing your arm", ("right shoulder",), "wind mill.png", 1, 9),
        RoutineStep("Now nod", ("neck",), at_least=1, at_most=1),
    )
    guide = Guide(Routine(steps, "Warm up", "Well done!"))
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(PATIENCE)
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.goto(server.look)
    page.wait_for_function("() => document.body.innerText.includes('Waiting for the first poses')")
    guide.advance(0.0, ())
    slip = Alarm(Finding("slip", "warning", "r_thigh: the sensor moved", ("r_thigh",), (4.0, 4.0)), 2, 6.0)
    server.send("status", status(0.0, (slip,), guide=guide.describe(0.0), behind=9.0))
    page.wait_for_function("() => document.querySelector('.ask')?.innerText === 'Swing your arm'")
    assert not page.is_visible(".alarms")  # these are for the operator
    assert not page.is_visible(".banner")
    server.send("bodies", encode("bodies", names=take.names))
    send_frame(server, take, 0)
    page.wait_for_selector(".stage canvas")
    server.send("solve", describe_solve(solve))
    send_frame(server, take, 5)
    page.wait_for_function("() => document.querySelector('.label.strong')?.innerText === 'r_upper_arm'")
    page.wait_for_function("() => document.querySelector('.coach img').naturalWidth === 1")
    known = (Progress("r_upper_arm", "right shoulder", 1.0, True, None),)
    for moment, words in ((2.0, "Now nod"), (4.0, "Well done!")):
        guide.advance(moment, known)
        server.send("status", status(moment, guide=guide.describe(moment)))
        page.wait_for_function("words => document.querySelector('.ask').innerText === words", arg=words)
        if words == "Now nod":  # shown on the figure at once, not with the next solve
            send_frame(server, take, 6)
            page.wait_for_function("() => document.querySelector('.label.strong')?.innerText === 'head'")
    assert page.query_selector(".coach img") is None
    assert not [line for line in told if "WebSocket" not in line and "GPU" not in line]
    page.context.close()
    server.close()


@pytest.mark.costly
def test_a_banner_tells_what_is_not_recorded_and_a_solver_that_died(browser: Any, server: LiveServer) -> None:
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(server.look)
    page.wait_for_function("() => document.body.innerText.includes('Waiting for the first poses')")
    for values, words in (
        ({"fault": "the disk is full", "lost": 12}, "Not recorded: 12 frames. the disk is full"),
        ({"restarts": 1}, "The solver died and was started again. The recording is whole."),
        (
            {"restarts": 1, "behind": 7.25},
            "The solver died and was started again. The recording is whole. Behind by 7.3 s",
        ),
        ({"restarts": 6, "given_up": True}, "Nothing is solved any more"),
    ):
        server.send("status", status(3.0, **values))
        page.wait_for_function("words => document.querySelector('.banner').innerText.startsWith(words)", arg=words)
    page.context.close()
