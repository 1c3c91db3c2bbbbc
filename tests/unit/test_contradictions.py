"""What denies what: predicates that are never one claim, and evidence that is no repeat of another."""

import pytest

from drag_graph.graph.contradictions import contradicted, predicates_contradict, predicates_differ, statements_differ


@pytest.mark.parametrize(
    "denial",
    [
        "does not reduce",
        "fails to reduce",
        "hardly reduces",
        "rarely reduces",
        "cannot reduce",
        "can't reduce",
        "can\u2019t reduce",
        "won't reduce",
        "is not known to reduce",
        "is not shown to reduce",
        "no longer reduces",
    ],
)
def test_a_denial_is_another_claim_and_contradicts(denial):
    assert predicates_differ("reduces", denial)
    assert predicates_contradict("reduces", denial)


@pytest.mark.parametrize(
    ("claim", "denial"),
    [
        ("is indicated in", "is contraindicated in"),
        ("is indicated for", "is contraindicated in"),
        ("is sensitive to", "is resistant to"),
        ("is susceptible to", "is immune to"),
        ("is sensitive to", "is no longer sensitive to"),
        ("verringert", "verringert nicht"),
        (
            "\u0443\u043b\u0443\u0447\u0448\u0430\u0435\u0442",
            "\u043d\u0435 \u0443\u043b\u0443\u0447\u0448\u0430\u0435\u0442",
        ),
    ],
)
def test_so_are_contraries_and_denials_in_other_languages(claim, denial):
    assert predicates_differ(claim, denial)
    assert predicates_contradict(claim, denial)


@pytest.mark.parametrize(("one", "other"), [("improves", "worsens"), ("raises", "reduces"), ("helps", "harms")])
def test_evidence_that_says_the_contrary_is_no_repeat(one, other):
    assert statements_differ(f"Aspirin {one} bleeding.", f"Aspirin {other} bleeding.")


@pytest.mark.parametrize("denial", ["doesn't reduce", "doesn\u2019t reduce", "CAN'T reduce", "cannot reduce", "won't reduce"])
def test_evidence_that_denies_by_a_contraction_is_no_repeat(denial):
    assert statements_differ("Aspirin reduces bleeding.", f"Aspirin {denial} bleeding.") == "one is negated"
    assert not statements_differ("Aspirin does not reduce bleeding.", f"Aspirin {denial} bleeding.")


def test_what_says_the_same_in_other_words_is_neither():
    assert not predicates_contradict("is longer than", "is not shorter than")
    assert not predicates_contradict("reduces", "reduces the risk of")
    assert not predicates_contradict("lives longer with", "does not live with")
    assert not predicates_contradict("lasts longer than", "does not last")
    assert not predicates_contradict("takes longer than", "does not take")
    assert not statements_differ("Aspirin reduces bleeding.", "Bleeding is reduced by aspirin.")


def test_many_predicates_contradict_as_two_do():
    verbs = [
        "agree",
        "disagree",
        "like",
        "unlike",
        "dislike",
        "reduce",
        "increase",
        "invoice",
        "live longer",
        "live",
        "no longer live",
    ]
    texts = [f"{adverb}{text}{end}" for adverb in ("", "not ", "always ", "never ") for text in verbs for end in ("", " with")]
    expected = {text: {other for other in texts if predicates_contradict(text, other)} for text in texts}
    assert contradicted(texts) == expected
    assert expected["agree"] >= {"disagree", "not agree"}
