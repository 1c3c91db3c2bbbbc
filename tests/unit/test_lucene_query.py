"""Queries of Neo4j's full-text indexes: quoted, bounded, and nothing of a text is syntax."""

import pytest

from drag_graph.stores.neo4j.neo4j_search import MOST_SOURCES, MOST_TERMS, lucene_query


def test_terms_are_phrases_in_both_fields_of_one_namespace():
    query = lucene_query("evidence_text", "default", ["宁波", "v1234", "宁波"])
    assert query == '+namespace:"default"^0 +(text:("宁波" "v1234") terms:("宁波" "v1234"))'


def test_few_sources_are_named_in_the_fields_that_have_their_ids():
    assert lucene_query("evidence_text", "n", ["a"], ["s1", "s2"]).endswith(' +(source_id:("s1" "s2"))^0')
    assert lucene_query("unit_text", "n", ["a"], ["s1"]).endswith(' +(source_id:("s1") id:("s1"))^0')
    assert "source_id" not in lucene_query("unit_text", "n", ["a"], ["s"] * (MOST_SOURCES + 1))


def test_there_are_never_more_clauses_than_lucene_takes():
    terms, sources = [f"w{n}" for n in range(5000)], [f"s{n}" for n in range(MOST_SOURCES)]
    query = lucene_query("unit_text", "n", terms, sources)
    assert query.count('"') // 2 == 1 + 2 * MOST_TERMS + 2 * MOST_SOURCES < 1024


def test_quotes_and_backslashes_are_escaped():
    assert lucene_query("evidence_text", 'a"b\\', ['x" OR *:*']) == (
        '+namespace:"a\\"b\\\\"^0 +(text:("x\\" OR *:*") terms:("x\\" OR *:*"))'
    )


@pytest.mark.parametrize("terms", [[], ["!"], ["", '"', "\\"]])
def test_without_a_word_there_is_no_query(terms):
    assert lucene_query("evidence_text", "default", terms) == ""
