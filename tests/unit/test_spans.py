"""Overlapping findings: nothing that one of them covers is left uncovered, except the last character beside another part."""

from drag_graph.privacy.spans import Span, settled


def test_a_remainder_of_one_character_stays_covered_if_it_is_all_that_is_left():
    spans = settled([Span(7, 12, "A", "a"), Span(6, 11, "B", "b")])
    assert [(span.start, span.end, span.type) for span in spans] == [(6, 7, "B"), (7, 12, "A")]


def test_a_remainder_of_one_character_is_dropped_beside_a_longer_one():
    spans = settled([Span(4, 8, "A", "a"), Span(0, 9, "B", "b")])
    assert [(span.start, span.end, span.type) for span in spans] == [(0, 4, "B"), (4, 8, "A")]


def test_overlaps_of_one_type_are_merged_and_neighbours_are_not():
    spans = settled([Span(0, 4, "A", "a"), Span(2, 6, "A", "b"), Span(6, 8, "A", "c")])
    assert [(span.start, span.end) for span in spans] == [(0, 6), (6, 8)]
