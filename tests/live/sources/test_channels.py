"""live/sources/_channels.py: the labels of channels name bodies, as the columns of tables do."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.live.sources._channels import find_unit, read_channels

HIP = ["hip_x", "hip_y", "hip_z", "hip_qx", "hip_qy", "hip_qz", "hip_qw"]


def test_labels_become_bodies_and_markers_in_the_order_of_a_packet() -> None:
    labels = ["battery", *HIP, *(word.replace("hip", "leg") for word in HIP), "toe_x", "toe_y", "toe_z"]
    found = read_channels("lsl:a", labels, ["mm"] * len(labels))
    assert (found.layout.bodies, found.layout.markers) == (("hip", "leg"), ("toe",))
    assert (found.layout.convention.rotation, found.layout.convention.unit) == ("xyzw", "mm")
    rows = found.values(np.arange(len(labels), dtype=float)[None])
    assert rows.tolist() == [[1, 2, 3, 8, 9, 10, 4, 5, 6, 7, 11, 12, 13, 14, 15, 16, 17]]
    assert found.layout.width == 17


def test_channels_that_name_no_body_are_told_with_what_is_needed() -> None:
    with pytest.raises(CondyleError, match="has no channels of a body's place and rotation, such as hip_x") as error:
        read_channels("lsl:a", ["Fp1", "Cz"])
    assert "its channels are Fp1, Cz" in str(error.value)


def test_a_unit_is_taken_where_all_bodies_have_one_that_is_known() -> None:
    assert find_unit(["mm", "mm"]) == "mm"
    assert find_unit(["Meters"]) == "meters"
    assert find_unit(["mm", "m"]) is None
    assert find_unit(["parsec"]) is None
    assert find_unit([]) is None
    assert read_channels("lsl:a", HIP).layout.convention.unit is None
