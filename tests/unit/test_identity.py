import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drag_graph.identity import canonical_text, content_id, query_id, sha256_of

texts = st.text(max_size=30)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("What is it?", "  what IS\n it?  "),
        ("Straße", "STRASSE"),
        ("ﬁne", "fine"),
        ("Ｗｉｄｅ", "wide"),
        ("e\u0301t\u00e9", "\u00e9te\u0301"),
    ],
)
def test_case_width_and_spacing_do_not_make_another_question(text, other):
    assert canonical_text(text) == canonical_text(other)
    assert query_id("n", text, ["a"]) == query_id("n", other, ["a"])


@pytest.mark.parametrize("text", ["What is it", "What was it?", "What is it ?"])
def test_other_words_or_marks_make_another_question(text):
    assert query_id("n", text) != query_id("n", "What is it?")


@settings(deadline=None)
@given(text=texts)
def test_the_canonical_form_of_a_latin_text_is_stable(text):
    once = canonical_text(text.encode("latin-1", "ignore").decode("latin-1"))
    assert canonical_text(once) == once


@settings(deadline=None)
@given(parts=st.lists(texts, min_size=2, max_size=4))
def test_parts_are_framed(parts):
    """Neither joining two parts nor leaving an empty one out gives the same id."""
    separated = [part.replace("\x1f", " ") for part in parts]
    joined = [separated[0] + separated[1], *separated[2:]]
    assert content_id("n", "kind", *separated) != content_id("n", "kind", *joined)
    assert content_id("n", "kind", *separated) == content_id("n", "kind", *parts)


def test_namespace_kind_and_options_are_part_of_an_id():
    ids = {
        query_id("n", "What?"),
        query_id("m", "What?"),
        query_id("n", "What?", ["a"]),
        query_id("n", "What?", ["a", "b"]),
        query_id("n", "What?", ["b", "a"]),
        query_id("n", "What?", ["ab"]),
        content_id("n", "answer", "what?"),
    }
    assert len(ids) == 7


def test_ids_are_the_same_for_ever():
    """Stores keep ids: a change here makes every stored query a stranger."""
    framed = b"default\x1fquery\x1fwhat is mitosis?\x1fa\x1fb"
    assert query_id("default", "What is  Mitosis?", ["A", "b"]) == hashlib.sha256(framed).hexdigest()[:32]
    assert query_id("default", "What is Mitosis?", ["a", "b"]) == "fb5fbd4f2900fb13698e8778f22e26f0"


def test_a_text_that_no_encoding_has_still_gets_an_id():
    assert len(content_id("n", "evidence", "\ud800")) == 32
    assert len(sha256_of("\ud800")) == 64


@settings(deadline=None)
@given(document=st.dictionaries(texts.filter(str.isprintable), st.one_of(st.integers(), texts, st.none()), max_size=5))
def test_the_hash_of_a_document_does_not_depend_on_its_order(document):
    backwards = dict(reversed(document.items()))
    assert sha256_of(document) == sha256_of(backwards)
    assert sha256_of({**document, "another": 1}) != sha256_of(document)
