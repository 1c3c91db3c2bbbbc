import json
import random
import sys
from pathlib import Path

import numpy as np
import pytest

from drag_graph.distill import canonical_subgraph as canonical
from drag_graph.distill.entity_merging import Thresholds, merge_entities, merge_predicates, predicate_text, thresholds_for
from drag_graph.distill.triple_extraction import RawTriple
from drag_graph.graph.contradictions import entities_differ, predicates_differ
from drag_graph.graph.name_forms import entity_key, predicate_key
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.embedders.local_embedder import LocalEmbedder
from tests.unit.step_builders import query

LEXICAL = LexicalEmbedder()
BENCH = Path(__file__).parents[2] / "bench"


def raw(subject, predicate, object_, confidence=0.9, evidence="e1", **more):
    return RawTriple(subject, predicate, object_, confidence, evidence, "call-1", **more)


def build(*triples):
    return canonical.build(query(), triples, LEXICAL.embed, thresholds_for(LEXICAL.name))


def ends(graph):
    return {(triple.subject, triple.predicate_key, triple.object) for triple in graph.triples}


def test_variants_become_one_entity_and_stay_on_it():
    graph = build(
        raw("Nymphs", "become", "adults"),
        raw("the nymph", "resembles", "the adult", evidence="e2"),
        raw("nymphs", "have", "wings", evidence="e2"),
    )
    nymph = next(entity for entity in graph.entities if "nymph" in entity.name.casefold())
    assert {*nymph.variants, nymph.name} == {"Nymphs", "nymphs", "nymph", "the nymph"}
    assert len(graph.entities) == 3


def test_an_acronym_joins_its_long_form():
    graph = build(
        raw("deoxyribonucleic acid (DNA)", "stores", "information"), raw("DNA", "is in", "the nucleus", evidence="e2")
    )
    assert {triple.subject_id for triple in graph.triples} == {graph.triples[0].subject_id}
    assert graph.triples[0].subject == "deoxyribonucleic acid"


def test_an_acronym_of_two_long_forms_joins_none():
    names = ["MS", "multiple sclerosis", "mitral stenosis"]
    assert merge_entities(names, LEXICAL.embed(names), 0.9) == [[0], [1], [2]]


def test_the_last_word_of_a_name_is_another_name():
    names = ["Curie", "Gatwick", "London Gatwick", "Marie Curie", "Virginia", "West Virginia"]
    assert len(merge_entities(names, LEXICAL.embed(["one text"] * len(names)), 0.5)) == len(names)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("London, England", "England"),
        ("Kim Jong-un", "Kim Jong-il"),
        ("CGTU", "CGT"),
        ("trade in currency", "currency trade report"),
    ],
)
def test_names_that_real_passages_put_side_by_side_stay_apart(first, second):
    assert len(merge_entities([first, second], LEXICAL.embed(["one text"] * 2), 0.5)) == 2


def test_guards_hold_however_near_the_vectors_are():
    names = ["type 1 diabetes", "type 2 diabetes", "hot water", "cold water"]
    same = LEXICAL.embed(["one text"] * 4)
    assert len(merge_entities(names, same, 0.5)) == 4


def test_a_chain_does_not_join_what_a_guard_keeps_apart():
    names = ["hot spring water", "spring water there", "cold spring water"]
    groups = merge_entities(names, LEXICAL.embed(["one text"] * 3), 0.5)
    assert not any({0, 2} <= set(group) for group in groups)


def test_a_pronoun_stands_for_its_referent_and_a_pointing_word_goes():
    graph = build(
        raw("Lyme disease", "is spread by", "ticks"),
        raw("It", "causes", "a rash"),
        raw("this disease", "is treated with", "antibiotics"),
    )
    assert {triple.subject for triple in graph.triples} == {"Lyme disease", "disease"}
    lost = build(raw("it", "causes", "pain"))
    assert lost.triples == ()
    assert "without a referent" in lost.discarded[0]


def test_self_loops_and_repeats_are_discarded_with_a_reason():
    graph = build(
        raw("the cells", "are", "cell"),
        raw("cells", "contain", "water", 0.4),
        raw("cell", "contains", "water", 0.8),
        raw("cell", "contains", "water", 0.5, evidence="e2"),
    )
    assert len(graph.triples) == 2
    assert max(triple.confidence for triple in graph.triples) == 0.8
    assert any("both ends are the entity" in reason for reason in graph.discarded)
    assert any("repeats a triple" in reason for reason in graph.discarded)


def test_parallel_edges_of_different_evidence_stay():
    graph = build(raw("ants", "eat", "leaves"), raw("ants", "carry", "leaves"), raw("ants", "eat", "leaves", evidence="e2"))
    assert len(graph.triples) == 3


def test_nearness_to_the_question_is_known_for_each_triple():
    graph = build(
        raw("plants", "take in", "carbon dioxide gas"),
        raw("cars", "need", "roads", evidence="e2"),
        raw("stars", "shine at", "night", evidence="e3"),
    )
    assert graph.nearness.keys() == {triple.id for triple in graph.triples}
    assert max(graph.triples, key=lambda triple: graph.nearness[triple.id]).subject == "plants"


def test_the_order_of_the_triples_does_not_matter():
    triples = [
        raw("Nymphs", "become", "adults"), raw("nymph", "becomes", "adult", evidence="e2"),
        raw("DNA", "is", "acid", evidence="e3"),
        raw("cell membrane", "surrounds", "the cell", evidence="e4"), raw("cells", "divide into", "two cells", evidence="e5"),
    ]  # fmt: skip
    first = build(*triples)
    for seed in range(5):
        random.Random(seed).shuffle(triples)
        again = build(*triples)
        assert (again.entities, again.triples) == (first.entities, first.triples)


def test_all_texts_are_embedded_in_one_call():
    calls = []

    def embed(texts):
        calls.append(list(texts))
        return LEXICAL.embed(texts)

    canonical.build(query(), [raw("ants", "eat", "leaves"), raw("bees", "make", "honey")], embed, thresholds_for(LEXICAL.name))
    assert len(calls) == 1
    canonical.build(query(), [], embed, thresholds_for(LEXICAL.name))
    assert len(calls) == 1


def test_ids_are_of_the_namespace_and_query():
    one = build(raw("ants", "eat", "leaves"))
    other = canonical.build(
        query(namespace="other"), [raw("ants", "eat", "leaves")], LEXICAL.embed, thresholds_for(LEXICAL.name)
    )
    assert one.triples[0].id != other.triples[0].id
    assert {entity.id for entity in one.entities}.isdisjoint(entity.id for entity in other.entities)


def test_the_type_is_the_one_most_often_given():
    graph = build(
        raw("ants", "eat", "leaves", subject_type="concept"),
        raw("ant", "digs", "tunnels", evidence="e2", subject_type="concept"),
        raw("ants", "fear", "birds", evidence="e3", subject_type="person"),
    )
    assert {entity.name: entity.type for entity in graph.entities}["ants"] == "concept"


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("transitions directly into", "transition_directly_into"), ("is", "be"), ("are", "be"), ("was", "be"),
        ("is located in", "locate_in"), ("locatedIn", "locate_in"), ("causes", "cause"), ("is caused by", "cause_by"),
        ("has caused", "cause"), ("does not cause", "not_cause"), ("cannot cause", "can_not_cause"),
        ("is produced by", "produce_by"),
        ("controlled by", "control_by"), ("requires", "require"), ("created", "create"), ("belongs to", "belong_to"),
        ("!?", "relate_to"),
    ],
)  # fmt: skip
def test_predicate_keys(written, key):
    assert predicate_key(written) == key


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("the Cells", "cell"),
        ("X-ray", "X ray"),
        ("surface of the moon", "moon's surface"),
        ("tumour", "tumors"),
        ("U.S.", "US"),
    ],
)
def test_entity_keys_that_agree(first, second):
    assert entity_key(first, frozenset({"cell"})) == entity_key(second)


@pytest.mark.parametrize(
    ("first", "second"), [("1 2", "12"), ("Williams", "William"), ("cell", "cell membrane"), ("glass", "gla")]
)
def test_entity_keys_that_do_not(first, second):
    assert entity_key(first) != entity_key(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("causes", "is caused by"),
        ("is", "is not"),
        ("increases", "decreases"),
        ("contains", "is part of"),
        ("moves to", "moves from"),
    ],
)
def test_predicates_that_must_not_merge(first, second):
    assert predicates_differ(first, second)
    assert predicates_differ(second, first)
    assert len(merge_predicates([first, second], LEXICAL.embed(["same", "same"]), 0.5)) == 2


def test_guards_are_symmetric_on_every_labelled_pair():
    for name, differ in (("entity_pairs", entities_differ), ("predicate_pairs", predicates_differ)):
        for pair in labelled(name):
            assert bool(differ(pair["first"], pair["second"])) == bool(differ(pair["second"], pair["first"])), pair


def labelled(name):
    return [json.loads(line) for line in (BENCH / "data" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def measured(embedder, name):
    thresholds = thresholds_for(embedder.name)
    merge, threshold, frame = {
        "entity_pairs": (merge_entities, thresholds.entity, "{}"),
        "predicate_pairs": (merge_predicates, thresholds.predicate, thresholds.frame),
    }[name]
    pairs = labelled(name)
    texts = sorted({pair[side] for pair in pairs for side in ("first", "second")})
    framed = texts if merge is merge_entities else [predicate_text(text, frame) for text in texts]
    rows = dict(zip(texts, embedder.embed(framed), strict=True))
    right = wrong = missed = 0
    for pair in pairs:
        two = [pair["first"], pair["second"]]
        joined = two[0] == two[1] or len(merge(two, np.stack([rows[text] for text in two]), threshold)) == 1
        right += joined and pair["same"]
        wrong += joined and not pair["same"]
        missed += not joined and pair["same"]
    return right / (right + wrong), right / (right + missed)


@pytest.mark.parametrize(
    ("make", "name", "precision", "recall"),
    [
        (LexicalEmbedder, "entity_pairs", 0.98, 0.59),
        (LexicalEmbedder, "predicate_pairs", 0.98, 0.43),
        (LocalEmbedder, "entity_pairs", 0.98, 0.78),
        (LocalEmbedder, "predicate_pairs", 0.98, 0.60),
    ],
)
def test_merging_is_as_precise_as_published(make, name, precision, recall):
    """The figures of docs/explanation/pipeline.md, less a small margin, at the thresholds that the product uses."""
    got_precision, got_recall = measured(make(), name)
    assert got_precision >= precision
    assert got_recall >= recall


def test_a_threshold_that_is_set_wins_over_the_measured_one():
    assert thresholds_for("lexical/2-1024").entity == thresholds_for("lexical/2-64").entity
    assert thresholds_for("lexical/2-64", 0.5) == Thresholds(entity=0.5, predicate=0.5, frame="{}")
    assert thresholds_for("somebody/elses-model") == Thresholds(entity=0.9, predicate=0.85)


def test_the_bench_is_importable_without_running(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCH), *sys.path])
    import entity_merging

    assert len(entity_merging.read_pairs("entity_pairs.jsonl")) >= 150
    assert len(entity_merging.read_pairs("predicate_pairs.jsonl")) >= 100


def test_a_thing_has_one_date_of_what_happens_once():
    assert all(
        opposition(raw("Orchid", "was founded in", "1998"), raw("Orchid", "was founded in", "2001", evidence="e2")).values()
    )


def opposition(*triples):
    return {triple.object: triple.opposes for triple in build(*triples).triples}


def test_another_number_of_the_same_subject_and_predicate_is_opposed():
    first, second = raw("Orchid", "has a budget of", "4 M euros"), raw("Orchid", "has a budget of", "5 M euros", evidence="e2")
    other = raw("Tulip", "has a budget of", "6 M euros", evidence="e2")
    key = predicate_key("has a budget of")
    assert opposition(first, second, other) == {
        "4 M euros": (f"{key} 5 M euros",),
        "5 M euros": (f"{key} 4 M euros",),
        "6 M euros": (),
    }


@pytest.mark.parametrize(
    ("predicate", "objects", "evidence"),
    [
        ("was founded in", ("1998", "2001"), ("e1", "e1")),  # one statement with both is a list
        ("won the cup in", ("1998", "2001"), ("e1", "e2")),
        ("played in Lisse on", ("3 March 2025", "5 May 2025"), ("e1", "e2")),
        ("was rebuilt in", ("1998", "2001", "2005"), ("e1", "e2", "e3")),
        ("sold", ("5 pumps in March", "6 pumps in April"), ("e1", "e2")),
        ("contains", ("vitamin B6", "vitamin B12"), ("e1", "e2")),
    ],
)
def test_what_has_several_values_is_not_opposed(predicate, objects, evidence):
    triples = [raw("Orchid", predicate, name, evidence=id_) for name, id_ in zip(objects, evidence, strict=True)]
    assert not any(opposition(*triples).values())
