from __future__ import annotations

import pytest

from tests.make.clients import ask

SCRIPT = """
import numpy as np
from condyle.io.exports._usd_stage import find_time_codes
answer([(rate, codes.tolist()) for rate, codes in (find_time_codes(np.array(time)) for time in facts)])
"""


def test_frames_are_counted_and_keep_their_place_where_some_are_lost() -> None:
    even, lost, bent = ask("usd", SCRIPT, [[5.0, 5.1, 5.2], [0.0, 0.1, 0.2, 0.5], [0.0, 0.1, 0.2, 0.25]])
    assert even == [pytest.approx(10.0), [0.0, 1.0, 2.0]]
    assert lost[1] == [0.0, 1.0, 2.0, 5.0]
    assert bent[1] == [0.0, 1.0, 2.0, 2.5]
