from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from condyle.cli import VERBS, main
from condyle.cli.completion import SHELLS, make_script


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell_knows_verbs_and_options(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(verb in script for verb in VERBS)
    assert "tree-score" in script


def test_the_script_is_in_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["script"] == make_script("bash")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(("typed", "found"), [("condyle retar", "retarget"), ("condyle fit --tree-s", "--tree-score")])
def test_bash_completes_with_it(typed: str, found: str, tmp_path: Path) -> None:
    (tmp_path / "condyle.bash").write_text(make_script("bash"))
    words = typed.split()
    code = (
        "shopt -s progcomp; source ./condyle.bash; "
        f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; COMP_LINE='{typed}'; COMP_POINT={len(typed)}; "
        "$(complete -p condyle | sed 's/.*-F \\([^ ]*\\).*/\\1/'); printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert found in done.stdout.split(), done.stderr


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
@pytest.mark.parametrize(("typed", "found"), [("condyle retar", "retarget"), ("condyle fit --tree-s", "--tree-score")])
def test_fish_completes_with_it(typed: str, found: str, tmp_path: Path) -> None:
    (tmp_path / "condyle.fish").write_text(make_script("fish"))
    code = f"source condyle.fish; complete -C '{typed}'"
    done = subprocess.run(["fish", "-N", "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert found in done.stdout.split(), done.stderr
