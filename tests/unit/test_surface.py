"""What cleaning leaves of a name (docs/explanation/pipeline.md)."""

import pytest

from drag_graph.graph.name_forms import clean, entity_key

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
KSHA = "\u0915\u094d\u200d\u0937"
WANTS = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u062f"


@pytest.mark.parametrize("name", [FAMILY, f"{FAMILY} emoji", KSHA, WANTS])
def test_joiners_within_a_name_stay(name):
    """Without them a joined emoji falls apart and Indic and Persian words are spelt wrongly."""
    assert clean(name) == name
    assert clean(f' "{name}". ') == name


def test_joiners_at_the_edge_and_signs_that_turn_a_text_go():
    assert clean("\u200dsea\u200c") == "sea"
    assert clean("a\u202eb") == "a b"
    assert clean("\u202esea\u200f") == "sea"


def test_a_joined_and_a_parted_emoji_are_two_entities():
    assert entity_key(FAMILY) != entity_key(FAMILY.replace("\u200d", " "))
