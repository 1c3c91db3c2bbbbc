"""The time that a document takes is linear in its length: what is compared with all others is bounded."""

import time

import numpy as np
import pytest

from drag_graph.distill import canonical_subgraph, entity_merging
from drag_graph.distill.entity_merging import Thresholds, merge_entities, merge_predicates
from drag_graph.distill.triple_extraction import RawTriple
from drag_graph.documents.file_loaders import load_text
from drag_graph.documents.passages import chunks
from drag_graph.graph import contradictions
from drag_graph.graph.aggregate import Claim, Part, edges_of
from drag_graph.model import Aggregation, Document

MILLION = 1_000_000
PATIENCE = 20.0
"""Seconds of the processor; quadratic code takes minutes."""


@pytest.mark.parametrize(
    "text",
    ["x" * MILLION, "x" + "." * MILLION, "A b. " * (MILLION // 5), "x" + " " * MILLION + "y", "Mr. A " * (MILLION // 6)],
    ids=["one word", "points", "one line of sentences", "blanks", "no ends"],
)
def test_a_long_line_is_cut_in_linear_time(text):
    began = time.process_time()
    loaded = load_text(text)
    found = chunks(loaded.text, loaded.blocks, 1200)
    assert time.process_time() - began < PATIENCE
    assert found[-1].span.end == len(loaded.text)


def test_only_the_most_frequent_names_are_embedded(monkeypatch):
    monkeypatch.setattr(canonical_subgraph, "COMPARED", 2)
    raw = [RawTriple("Moon", "causes", f"tide {number}", 1.0, f"e{number}", "c") for number in range(5)]
    raw += [RawTriple("the Moon", "pulls", "Earth", 1.0, "e9", "c"), RawTriple("The moon", "pulls", "Earth", 1.0, "e8", "c")]
    embedded = []

    def embed(texts):
        embedded.extend(texts)
        return np.eye(len(texts), 8, dtype=np.float32)

    document = Document(id="d", name="d.txt", uri="d")
    graph = canonical_subgraph.build(document, raw, embed, Thresholds(0.9, 0.9), ranks=False)
    assert embedded == ["d.txt", "Moon", "Earth", "X causes Y", "X pulls Y"]
    moon = next(item for item in graph.entities if "the Moon" in (item.name, *item.variants))
    assert len(moon.variants) == 2, "the other names still merge by spelling"


def test_names_without_a_vector_merge_by_key_alone():
    names = ["car", "automobile", "cars"]
    assert merge_entities(names, np.ones((1, 4), dtype=np.float32) / 2, 0.9) == [[0, 2], [1]]
    assert merge_entities(names, np.ones((2, 4), dtype=np.float32) / 2, 0.9) == [[0, 1, 2]]


def test_two_names_are_compared_once(monkeypatch):
    names = [f"{word} {kind}" for kind in ("of", "in", "on", "at") for word in ("made", "part", "kind", "grown")]
    asked = []

    def differ(one, two):
        asked.append(frozenset((one, two)))
        return "" if one.split()[0] == two.split()[0] else "different words"

    monkeypatch.setattr(entity_merging, "predicates_differ", differ)
    vectors = np.ones((len(names), 4), dtype=np.float32) / 2
    groups = merge_predicates(names, vectors, 0.9)
    assert len(groups) == 4
    assert len(asked) == len(set(asked)), "groups that differ are not compared again"


def test_many_edges_are_ranked_in_linear_time():
    claims = [
        Claim(f"s{n}", f"s{n}", "o", "o", key, 1.0, frozenset({"deny"} - {key}), (Part(n, f"t{n}{key}", key, f"e{n}"),))
        for n in range(10_000)
        for key in ("claim", "deny")
    ]
    began = time.process_time()
    edges, _ = edges_of("d", claims, Aggregation().of_documents())
    assert time.process_time() - began < PATIENCE
    assert len(edges) == 20_000
    assert edges[0].contradicts == (edges[1].id,)


def test_few_of_the_many_predicates_of_one_pair_are_compared(monkeypatch):
    compared = []
    monkeypatch.setattr(contradictions, "predicates_contradict", lambda *pair: compared.append(pair) or "")
    contradictions.contradicted([f"sent {number} invoices to" for number in range(5_000)])
    assert not compared
    contradictions.contradicted(["agrees with", "disagrees with", "talks to"])
    assert sorted(compared) == [("agrees with", "disagrees with"), ("disagrees with", "agrees with")]
