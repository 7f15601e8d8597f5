"""Tables, files of results, and what counts as a wrong edge that was told."""

from __future__ import annotations

import argparse
import json

import numpy as np
import pytest

import condyle
from benchmarks import cmu, harness
from condyle import Finding
from condyle.simulate import human, simulate

SEED = 30_000
EXACT = 1e-9  # m, lengths of a take without noise
LEG = 0.004  # m, rms error of leg lengths on a long natural clip


def test_a_table_prints_as_markdown():
    assert str(harness.Table(["a", "b"], [["1", "2"]])) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


@pytest.mark.parametrize("only", ["", "part"])
def test_results_are_written_unless_only_a_part_was_run(tmp_path, monkeypatch, capsys, only):
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    given = argparse.Namespace(trials=2, seed=SEED, only=only)
    table = harness.Table(["a"], [["1"]])
    harness.publish("it", "Title", "How.", {"Part": table}, {"x": np.array([1.0, np.nan])}, given)
    assert "# Title" in capsys.readouterr().out
    assert (tmp_path / "it.md").exists() == (not only)
    if not only:
        record = json.loads((tmp_path / "it.json").read_text())
        assert record["results"] == {"x": [1.0, None]}
        assert record["seed"] == SEED
        assert "condyle" in record["versions"]


def test_a_wrong_edge_is_named_by_both_its_bodies_or_with_the_whole_tree():
    wrong = {frozenset(("a", "b"))}
    thin = Finding("rivals", "warning", "a - b is doubtful", ("a", "b"))
    other = Finding("rivals", "warning", "c - d is doubtful", ("c", "d"))
    nothing = Finding("tree-not-determined", "error", "nothing moved")
    assert harness.names_wrong_edge([thin], wrong)
    assert not harness.names_wrong_edge([other], wrong)
    assert not harness.names_wrong_edge([], wrong)
    assert harness.names_wrong_edge([nothing], wrong)


@pytest.mark.parametrize("root", ["pelvis", "chest", "l_foot"])
def test_lengths_compare_whichever_root_was_chosen(root):
    world = simulate(human(), seconds=10.0, seed=SEED)
    skeleton = condyle.fit(world.take, root=root, tree=harness.known_tree(world.truth)).skeleton
    assert skeleton.roots == (root,)
    errors = harness.length_errors(skeleton, world.truth)
    assert len(errors) == len(world.truth.limbs)
    assert np.abs(list(errors.values())).max() < EXACT
    assert set(harness.lengths_held(skeleton, world.truth)) <= set(errors)


@pytest.mark.costly
def test_legs_of_a_natural_clip_come_out_and_its_tree_is_right(shared_data):
    found = cmu.measure("13_29.bvh", [SEED])
    assert found.right == found.trials == 1
    assert len(found.error) == len(cmu.LEGS)
    assert harness.rms(found.error) <= LEG
