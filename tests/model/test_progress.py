from __future__ import annotations

from pathlib import Path

import condyle
from condyle.model.progress import begin_step, listen, tell_share
from condyle.simulate import human, simulate


def test_a_step_is_told_to_who_listens_and_to_nobody_else() -> None:
    told: list[tuple[str, float | None]] = []
    begin_step("before")
    with listen(lambda name, share: told.append((name, share))):
        begin_step("reading")
        tell_share(0.5)
    begin_step("after")
    assert told == [("reading", None), ("", 0.5)]


def test_a_fit_from_a_file_to_its_folder_names_its_steps_in_order(tmp_path: Path) -> None:
    from condyle.io.exports import write_take

    write_take(tmp_path / "take.csv", simulate(human(), "exercise", seconds=4, seed=1).take)
    told: list[str] = []
    with listen(lambda name, share: told.append(name)):
        condyle.fit(tmp_path / "take.csv").save(tmp_path / "out", report=False, export="bvh")
    steps = list(dict.fromkeys(told))
    wanted = ["reading take.csv", "finding the tree", "estimating the intervals", "solving the motion", "writing bvh"]
    places = [next(k for k, step in enumerate(steps) if step.startswith(one)) for one in wanted]
    assert places == sorted(places), steps
