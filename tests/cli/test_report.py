"""condyle report, and the report that fit and demo write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from condyle.cli import main
from condyle.io.exports import write_take
from condyle.report import page as pages
from tests.make.fitted import fitted, take

TEMPLATE = b"<!doctype html>" + pages.DATA_PLACE


@pytest.fixture(autouse=True)
def _template(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "read_template", lambda: TEMPLATE)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    write_take(tmp_path / "take.npz", take(8))
    return tmp_path / "take.npz"


def test_a_fit_writes_its_page(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = recording.parent / "out"
    assert main(["fit", str(recording), "-o", str(out)]) == 0
    assert f"wrote {out / 'report.html'}" in capsys.readouterr().out
    data = (out / "report.html").read_bytes().removeprefix(TEMPLATE[:-9]).removesuffix(b"</script>")
    assert json.loads(data)["title"] == "take.npz"


def test_a_fit_can_leave_it_out(recording: Path) -> None:
    out = recording.parent / "out"
    assert main(["fit", str(recording), "-o", str(out), "--no-report"]) == 0
    assert sorted(file.name for file in out.iterdir()) == [
        "manifest.json",
        "motion.npz",
        "options.toml",
        "skeleton.json",
    ]


def test_the_page_tells_what_an_export_had_to_say(recording: Path) -> None:
    out = recording.parent / "out"
    main(["fit", str(recording), "-o", str(out), "--export", "bvh"])
    assert "up-assumed" in (out / "report.html").read_text()


def test_without_a_page_a_fit_is_done_all_the_same(
    recording: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(pages, "TEMPLATE", recording.parent / "page.html")
    out = recording.parent / "out"
    assert main(["fit", str(recording), "-o", str(out), "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["format"] == "condyle.skeleton"
    assert printed.err.startswith("condyle: no report.html: this installation was built without its page; ")
    assert main(["report", str(out)]) == 1
    assert "error: this installation was built without its page" in capsys.readouterr().err


def test_a_page_is_written_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = fitted(tmp_path / "out", take(8))
    assert main(["report", str(folder)]) == 0
    assert capsys.readouterr().out == f"wrote {folder / 'report.html'}\n"
    other = tmp_path / "page.html"
    assert main(["report", str(folder / "skeleton.json"), "-o", str(other), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"files": [str(other)]}
    assert other.is_file()


def test_a_page_is_opened_where_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, opened = fitted(tmp_path / "out", take(8)), list[str]()
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or len(opened) == 1)
    other = tmp_path / "a page"
    assert main(["report", str(folder), "--open"]) == 0
    assert main(["report", str(folder), "-o", str(other), "--open"]) == 0
    assert opened == [(folder / "report.html").as_uri(), other.as_uri()]
    assert "no browser could be started; open" in capsys.readouterr().err
    assert main(["report", str(folder), "--open", "--figures"]) == 2


@pytest.mark.parametrize(
    ("words", "form"),
    [(["--figures"], "png"), (["--figures", "pdf"], "pdf"), (["--figures", "svg", "-o", "out"], "svg")],
)
def test_figures_are_written_instead_of_the_page(
    words: list[str],
    form: str,
    noisy: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from condyle.report import figures

    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(figures, "write_figures", lambda *given: asked.append(given) or [Path("tree.png")])
    assert main(["report", str(noisy), *words]) == 0
    assert asked == [(noisy, Path("out") if "-o" in words else None, form)]
    assert capsys.readouterr().out == "wrote tree.png\n"


@pytest.mark.parametrize("verb", [["report"], ["view", "--no-open"]])
def test_a_folder_without_motion_is_one_line(
    verb: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = fitted(tmp_path / "out", take(8))
    (folder / "motion.npz").unlink()
    assert main([*verb, str(folder)]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"condyle: error: {folder}: there is no motion.npz beside skeleton.json; ")
    assert told.count("\n") == 1


def test_a_folder_that_is_none_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path / "nowhere")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_figures_of_a_folder_that_stands_behind_the_option(
    noisy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from condyle.report import figures

    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(figures, "write_figures", lambda *given: asked.append(given) or [Path("tree.png")])
    assert main(["report", "--figures", str(noisy)]) == 0
    assert asked == [(noisy, None, "png")]
    for words, said in (
        (["--figures", "png"], "name the folder of a fit"),
        ([str(noisy), "--figures", "jpg"], "'png'"),
    ):
        capsys.readouterr()
        assert main(["report", *words]) == 2
        assert said in capsys.readouterr().err
