import sys

import pytest

from drag_graph.threads import LONG_TURN, long_turns


def test_turns_are_long_as_long_as_somebody_wants_them_so_and_then_as_before():
    before = sys.getswitchinterval()
    with long_turns():
        assert sys.getswitchinterval() == pytest.approx(LONG_TURN)
        with long_turns():
            assert sys.getswitchinterval() == pytest.approx(LONG_TURN)
        assert sys.getswitchinterval() == pytest.approx(LONG_TURN)
    assert sys.getswitchinterval() == before


def test_turns_that_are_longer_already_stay():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1.0)
    try:
        with long_turns():
            assert sys.getswitchinterval() == 1.0
        assert sys.getswitchinterval() == 1.0
    finally:
        sys.setswitchinterval(before)
