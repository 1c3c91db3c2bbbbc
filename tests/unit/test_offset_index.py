import hashlib
import tracemalloc
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.adapters import offset_index
from drag_graph.adapters.offset_index import OffsetIndex


def key_of(number):
    return hashlib.sha256(str(number).encode()).hexdigest()


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(offset_index, "MERGED_FROM", 5)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=60))
def test_it_is_a_dictionary_of_lists(steps):
    """Whatever is added and discarded, before and after entries are merged: the same offsets in the same order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offset_index, "MERGED_FROM", 5)
        index, model = OffsetIndex(), defaultdict(list)
        for offset, (adds, number) in enumerate(steps):
            key = key_of(number)
            if adds:
                index.add(key, offset)
                model[key].append(offset)
            elif model[key]:
                index.discard(key, model[key].pop(0))
            index.discard(key, 10_000)
            assert len(index) == sum(1 for offsets in model.values() if offsets)
            assert all(index.offsets(key) == tuple(offsets) for key, offsets in model.items())
            assert all((key in index) is bool(offsets) for key, offsets in model.items())


def test_keys_with_the_same_beginning_share_their_offsets(small):
    index = OffsetIndex()
    one, two = "f" * 16 + "0" * 48, "f" * 16 + "1" * 48
    for offset, key in enumerate([one, two, *map(key_of, range(9)), one]):
        index.add(key, offset)
    assert index.offsets(one) == index.offsets(two) == (0, 1, 11)


@pytest.mark.parametrize("key", ["0" * 64, "f" * 64, "8" + "0" * 63])
def test_the_ends_of_the_range(small, key):
    index = OffsetIndex()
    for number in range(12):
        index.add(key_of(number), number)
    assert index.offsets(key) == ()
    index.add(key, 2**40)
    for number in range(12, 24):
        index.add(key_of(number), number)
    assert index.offsets(key) == (2**40,)


def test_sixty_thousand_entries_take_less_than_four_megabytes():
    keys = [key_of(number) for number in range(60_000)]
    tracemalloc.start()
    try:
        index = OffsetIndex()
        for offset, key in enumerate(keys):
            index.add(key, offset * 5_000)
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(index) == 60_000
    assert kept < 4 * 2**20
    assert index.offsets(keys[12_345]) == (12_345 * 5_000,)
