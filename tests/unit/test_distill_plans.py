"""What a plan implies, what a flag decides, and that both are in the hash of what determines a subgraph."""

import importlib
import inspect
import pkgutil
from dataclasses import asdict

import pytest

import drag_graph.distill
import drag_graph.graph
from drag_graph.distill.plans import choose_k, chosen, plan_settings
from drag_graph.distill.query_distillation import Distillation
from drag_graph.inputs import make_query
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.settings import load_settings
from tests.unit.saying import SayingTeacher

SIMPLE = make_query("Why?")
HARD = make_query(
    "A 54-year-old man, who has had chest pain since the morning, which began after a meal, is given 300 mg of aspirin and 2 L "
    "of oxygen because his blood pressure is low; given that he is allergic to penicillin, but his brother is not, which of "
    "the following best explains why he was not given heparin instead of aspirin before the angiography in London?",
    domain="medical",
)


def resolved(query=SIMPLE, **flags):
    return plan_settings(load_settings(flags), query)


@pytest.mark.parametrize(
    ("domain", "complexity", "expected"),
    [
        ("general", 0.0, 10), ("general", 0.49, 10), ("general", 0.5, 13), ("general", 0.8, 13), ("general", 0.81, 15),
        ("medical", 0.2, 13), ("medical", 0.6, 16), ("medical", 1.0, 20),
        ("technical", 0.2, 13), ("technical", 0.6, 16), ("technical", 0.9, 18),
        ("privacy", 0.2, 10),
    ],
)  # fmt: skip
def test_k_by_domain_and_complexity(domain, complexity, expected):
    assert choose_k(domain, complexity) == expected


@pytest.mark.parametrize(("domain", "alpha"), [("general", 0.6), ("medical", 0.7), ("technical", 0.65), ("privacy", 0.5)])
def test_alpha_by_domain_but_not_in_the_paper_plan(domain, alpha):
    query = SIMPLE.model_copy(update={"domain": domain})
    assert resolved(query).alpha == alpha
    assert resolved(query, alpha=0.0).alpha == 0.0
    assert resolved(query, plan="paper").alpha == 0.5


@pytest.mark.parametrize(("k", "n"), [(3, 15), (12, 15), (13, 17), (16, 20), (18, 23), (20, 25), (21, 27)])
def test_n_follows_k_unless_it_is_given(k, n):
    assert resolved(top_k=k).number_of_evidence == n
    assert resolved(top_k=k, plan="paper").number_of_evidence == max(20, n)
    assert resolved(top_k=k, number_of_evidence=4).number_of_evidence == 4


def test_n_follows_the_k_of_the_question():
    assert (resolved(HARD).top_k, resolved(HARD).number_of_evidence) == (20, 25)


def test_the_paper_plan_is_the_paper():
    expected = {
        "plan": "paper",
        "number_of_evidence": 20,
        "top_k": 15,
        "ranking": "rank-sum",
        "alpha": 0.5,
        "rank_relations": True,
        "statements": "teacher",
        "strategy": "whole-pair",
        "merge": "max",
        "threshold": 0.0,
    }
    for query in (SIMPLE, HARD):
        found = asdict(resolved(query, plan="paper"))
        found.pop("complexity")
        assert found == expected


FLAGS = {
    "number_of_evidence": 7,
    "top_k": 4,
    "ranking": "weighted",
    "alpha": 0.9,
    "rank_relations": False,
    "statements": "joined",
    "strategy": "predicate",
    "merge": "mean",
    "threshold": 0.3,
}


@pytest.mark.parametrize("name", FLAGS)
def test_each_part_can_be_set_by_itself(name):
    plan = asdict(resolved(plan="paper"))
    assert plan[name] != FLAGS[name]
    assert asdict(resolved(plan="paper", **{name: FLAGS[name]})) == {**plan, name: FLAGS[name]}


def test_zero_and_false_are_values():
    assert chosen(load_settings({"threshold": 0.0}), "threshold") == 0.0
    assert chosen(load_settings({"plan": "paper", "rank_relations": False}), "rank_relations") is False
    assert chosen(load_settings({}), "top_k") is None


def hashed(query=SIMPLE, **flags):
    return Distillation(load_settings(flags), LexicalEmbedder(), SayingTeacher()).settings_hash(query)


@pytest.mark.parametrize(
    "flags",
    [
        {"plan": "lean"},
        {"blind": True},
        {"seed": 0},
        {"extractor": "patterns"},
        {"teacher_temperature": 0},
        {"merge_similarity": 0.5},
    ]
    + [{name: value} for name, value in FLAGS.items()],
    ids=str,
)
def test_what_determines_a_subgraph_is_in_its_hash(flags):
    assert hashed(**{"plan": "paper", **flags}) != hashed(plan="paper")


def test_what_is_set_to_what_it_is_anyway_is_the_same():
    assert hashed(top_k=10, threshold=0.7, number_of_evidence=15) == hashed()
    assert hashed(workers=9) == hashed()


def versions():
    """Yield each prompt version of the steps of a distillation: its module, the name of its constant, and its plan."""
    modules = [
        importlib.import_module(found.name)
        for package in (drag_graph.distill, drag_graph.graph)
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    ]
    for module in modules:
        for name, value in inspect.getmembers(module):
            if "PROMPT_VERSION" in name:
                yield from ((module, name, plan) for plan in (value if isinstance(value, dict) else ("paper",)))


FOUND = list(versions())


def test_every_version_is_found():
    assert len(FOUND) >= 9


@pytest.mark.parametrize(("module", "name", "plan"), FOUND, ids=lambda part: getattr(part, "__name__", part))
def test_every_prompt_version_is_in_the_hash(module, name, plan, monkeypatch):
    before = hashed(plan=plan, rank_relations=True, statements="teacher")
    value = getattr(module, name)
    monkeypatch.setattr(module, name, {**value, plan: "another"} if isinstance(value, dict) else "another")
    assert hashed(plan=plan, rank_relations=True, statements="teacher") != before
