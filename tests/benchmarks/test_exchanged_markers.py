"""Short versions of the measurements of exchanged markers, as claims."""

from __future__ import annotations

import pytest

from benchmarks import marker_swaps

SEED = 30_000
TRIES = 1
LENGTHS = (0.1, 2.0)  # s


@pytest.mark.parametrize("name", ["2 mm, walk", "skin 5 mm, exercise", "0.5 mm, 1 % spikes, exercise"])
def test_two_exchanged_markers_are_named_to_the_frame_and_none_else(name: str) -> None:
    case = next(case for case in marker_swaps.CASES if case.name == name)
    for seed in range(SEED, SEED + TRIES):
        world, recording, groups = marker_swaps.marked(case, seed)
        assert marker_swaps.formed(recording, groups)[1] == []
        for kind in marker_swaps.KINDS:
            for length in LENGTHS:
                swap = marker_swaps.drawn(case, world.truth, groups, kind, length, seed)
                wrong = marker_swaps.exchanged(case, recording, swap)
                [told] = marker_swaps.formed(wrong, {body: groups[body] for body in swap.bodies})[1]
                assert marker_swaps.named(told) == set(swap.markers)
                assert (told.frame, told.count) == (swap.first, swap.stop - swap.first)
