"""The parts of an evaluation that need no model: statistics, tasks, scores of options, outcomes."""

import hashlib
import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.errors import InputError, MalformedReply
from drag_graph.evaluation import baselines, environment
from drag_graph.evaluation import plots as pictures
from drag_graph.evaluation.environment import file_hash, versions
from drag_graph.evaluation.evaluation_run import shuffled_subgraphs
from drag_graph.evaluation.intervals import mcnemar, paired_difference, wilson
from drag_graph.evaluation.metrics import macro_f1, token_f1
from drag_graph.evaluation.outcome import ITEMS, Record, compare_records, figures, leakage, markdown_table, read_records
from drag_graph.evaluation.tasks import TaskItem, in_split, read_task
from drag_graph.inputs import make_query
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.students.option_scoring import option_scores, softmax

ROWS = [
    {
        "id": f"row-{number}",
        "question": f"What is {number}?",
        "options": ["one", "two"],
        "answer": number % 2,
        "facts": [f"F{number}"],
    }
    for number in range(40)
]


def record(identity="a", *, correct=True, mode="graph", leaking=0, error=""):
    return Record(
        id=identity,
        mode=mode,
        question=f"What is {identity}?",
        options=("x", "y"),
        gold="A",
        answer="x",
        label="A",
        correct=correct,
        confidence=0.5,
        probabilities=(0.5, 0.5),
        lines=("a fact",),
        leaking=leaking,
        answer_id=f"answer-{identity}",
        prompt_hash="hash",
        prompt_tokens=10,
        context_tokens=4,
        seconds=0.5,
        error=error,
    )


@pytest.fixture
def data(tmp_path):
    (tmp_path / "qasc.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path


# -- statistics


@pytest.mark.parametrize(
    ("correct", "n", "low", "high"),
    [(5, 10, 0.2366, 0.7634), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662), (0, 0, 0.0, 1.0)],
)
def test_wilson_gives_the_published_intervals(correct, n, low, high):
    assert wilson(correct, n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share(pair):
    low, high = wilson(*pair)
    assert 0.0 <= low <= pair[0] / pair[1] <= high <= 1.0


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    [(10, 2, 158 / 4096), (2, 10, 158 / 4096), (1, 1, 1.0), (0, 0, 1.0), (6, 0, 2 / 64), (1200, 1200, 1.0)],
)
def test_mcnemar_is_the_exact_test(gained, lost, p):
    ones = [True] * gained + [False] * lost + [True] * 5
    others = [False] * gained + [True] * lost + [True] * 5
    assert mcnemar(ones, others) == pytest.approx(p)


def test_the_bootstrap_covers_the_mean_and_knows_no_difference():
    ones = [True, False] * 50
    low, mean, high = paired_difference(ones, [False] * 100)
    assert mean == 0.5
    assert (low, high) == pytest.approx((0.5 - 1.96 * 0.05, 0.5 + 1.96 * 0.05), abs=0.015)
    assert paired_difference(ones, ones) == (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="no item"):
        paired_difference([], [])


# -- measures of the field


@pytest.mark.parametrize(
    ("text", "golds", "f1"),
    [
        ("Paris.", ["paris"], 1.0),
        ("It is the city of Paris", ["Paris"], 2 / 6),
        ("London", ["Paris", "greater London"], 2 / 3),
        ("Rome", ["Paris"], 0.0),
        ("", ["Paris"], 0.0),
        ("Paris", [], 0.0),
    ],
)
def test_f1_is_of_the_words_that_answer_and_best_right_text_share(text, golds, f1):
    assert token_f1(text, golds) == pytest.approx(f1)


def test_macro_f1_weighs_all_classes_alike():
    assert macro_f1(["yes"] * 8 + ["no"] * 2, ["yes"] * 10) == pytest.approx((16 / 18 + 0) / 2)
    assert macro_f1(["yes", "no"], ["yes", "no"]) == 1.0
    assert macro_f1(["yes", "no"], ["yes", "perhaps"]) == pytest.approx(1 / 3), "as scikit-learn averages"
    assert macro_f1(["yes", "no"], ["", "perhaps"]) == 0.0


def test_figures_name_the_measure_that_fits_the_questions():
    verdicts = [replace(record(str(n)), gold="AB"[n % 2], answer="x") for n in range(4)]
    assert figures(verdicts)["macro_f1"] == pytest.approx((4 / 6 + 0) / 2)
    assert "macro_f1" not in figures([record("a"), replace(record("b"), options=("x", "z"))])
    open_ones = [replace(record(str(n)), options=(), gold="x", f1=n / 2) for n in range(3)]
    assert figures(open_ones)["f1"] == 0.5
    summary = {"modes": {"none": figures(open_ones)}, "gains": {}, "leakage": {"none": leakage(open_ones)}}
    head, _, row = markdown_table(summary).splitlines()
    assert head.split("|")[6].strip() == "F1"
    assert row.split("|")[6].strip() == "50.0"


# -- baselines


@pytest.fixture
def library(tmp_path):
    (tmp_path / "b").mkdir()
    lines = [f"{'word ' * 300}", *(f"Line {number} {'of words ' * 60}" for number in range(3)), "Bees make honey."]
    (tmp_path / "b" / "long.md").write_text("\n\n".join(lines))
    (tmp_path / "b" / "same.txt").write_text("Saturn has\u2028rings.\n")
    (tmp_path / "a.jsonl").write_text('{"text": "Saturn has\u2028rings."}\n\n{"text": "Iron melts at 1538 degrees."}\n')
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    return tmp_path


def test_documents_are_cut_at_line_ends_and_longer_lines_between_words(library):
    passages = baselines.read_passages(library)
    assert passages[:2] == ["Saturn has\nrings.", "Iron melts at 1538 degrees."]
    assert passages[2] == " ".join(["word"] * 240)
    assert [passage.count("Line ") for passage in passages[3:]] == [1, 2]
    assert passages[4].endswith("Bees make honey.")
    assert max(map(len, passages)) <= baselines.PIECE
    assert baselines.read_passages(library / "a.jsonl") == passages[:2]


@pytest.mark.parametrize("name", ["bm25", "cosine"])
def test_the_best_passages_for_a_question_come_first(library, name):
    passages = baselines.read_passages(library)
    item = TaskItem(make_query("Which planet has rings?", None, namespace="n"))
    embedder, budget = LexicalEmbedder(), 40
    find = baselines.passage_lines(name, passages, embedder, count_tokens=embedder.count_tokens, token_budget=budget)
    ((graph,),) = find([item])
    texts = [evidence.text for evidence in graph.kept_evidence]
    assert texts[0] == "Saturn has rings."
    assert sum(map(embedder.count_tokens, texts)) <= budget
    assert graph.document is not None, "lines of documents are quoted"
    assert {call.model for call in graph.calls} == {name}


def test_passages_fill_the_token_budget_and_the_last_one_is_cut():
    passages = ["one two three", "four five\nsix seven eight nine", "ten"]
    found = [baselines.filled(passages, lambda text: len(text.split()), budget) for budget in (3, 8, 17, 100)]
    assert found[:2] == [[], ["one two three"]]
    assert found[2][0] == passages[0]
    assert "four five six seven eight nine".startswith(found[2][1])
    assert len(found[2]) == 2
    assert len(found[3]) == 3


def test_documents_without_a_word_are_told():
    with pytest.raises(InputError, match="no searchable word"):
        baselines.by_bm25(["the and of"])


def test_leaking_items_are_left_out_with_what_they_gain():
    leaking = [replace(record(str(n)), leaking=int(n == 0), correct=n < 3) for n in range(4)]
    unaided = [replace(record(str(n), mode="none"), correct=n == 0) for n in range(4)]
    named = [replace(one, question=f"What {one.id}?") for one in (*leaking, *unaided)]
    found = leakage(named[:4], named[4:])
    assert found == {"items": 1, "accuracy_without": pytest.approx(2 / 3), "gain_without": pytest.approx(2 / 3)}
    assert leakage([named[0]], named[4:]) == {"items": 1, "accuracy_without": None, "gain_without": None}


def test_one_item_has_no_other():
    with pytest.raises(InputError, match="at least two items"):
        shuffled_subgraphs([TaskItem(make_query("What?", None, namespace="n"))], lambda _: [])


@pytest.mark.parametrize(("file", "content"), [("x.jsonl", '{"title": "a"}'), ("x.jsonl", "{"), ("x.txt", "  \n")])
def test_documents_that_cannot_be_read_are_told(tmp_path, file, content):
    (tmp_path / file).write_text(content)
    with pytest.raises(InputError, match=r"Cannot read|has no document"):
        baselines.read_passages(tmp_path)


# -- pictures


def test_pictures_are_drawn_and_are_the_same_again(tmp_path):
    modes = [("none", [True, False, False]), ("graph", [True, True, False])]
    records = [
        replace(record(str(n), mode=mode, correct=right), confidence=0.3 * n)
        for mode, rights in modes
        for n, right in enumerate(rights)
    ]
    drawn = pictures.draw(records, tmp_path)
    assert [path.name for path in drawn] == ["accuracy.svg", "tokens.svg", "calibration.svg"]
    first = [path.read_bytes() for path in drawn]
    assert all(b"</svg>" in one for one in first)
    assert [path.read_bytes() for path in pictures.draw(records, tmp_path)] == first
    assert pictures.draw_sweep({3: records, 5: records[:4]}, "max_lines", tmp_path / "sweep.png").read_bytes()[1:4] == b"PNG"
    with pytest.raises(InputError, match="same value of max_lines"):
        pictures.draw_sweep({3: records}, "max_lines", tmp_path / "other.svg")


@pytest.mark.parametrize("rights", [[False] * 10, [True] * 13])
def test_none_and_all_correct_can_be_drawn(tmp_path, rights):
    assert pictures.draw([record(str(n), correct=right) for n, right in enumerate(rights)], tmp_path)


def test_calibration_of_one_confidence_has_no_slope_of_its_own(monkeypatch, tmp_path):
    drawn = []
    monkeypatch.setattr("matplotlib.axes.Axes.plot", lambda _self, _x, y, **_: drawn.append(y))
    monkeypatch.setattr("matplotlib.axes.Axes.legend", lambda _self: None)
    pictures.draw([record(str(n), correct=n % 2 == 0) for n in range(20)], tmp_path)
    assert drawn[1:] == [[50.0] * pictures.BINS]


# -- scores of options


def test_three_ways_to_score_a_text():
    options, sums, unaided = ("ab", "abcdefgh"), (-2.0, -4.0), (-1.0, -6.0)
    assert option_scores("option-text", options, sums).argmax() == 0
    assert option_scores("option-text-norm", options, sums).tolist() == [-1.0, -0.5]
    assert option_scores("option-text-mutual-info", options, sums, unaided).tolist() == [-1.0, 2.0]


@pytest.mark.parametrize("sums", [(-1.5, -1.5, -1.5), (0.0, 0.0), (math.nan, -1.0), (-math.inf, -1.0)])
def test_a_model_that_makes_no_difference_is_an_error(sums):
    with pytest.raises(MalformedReply, match=r"likelihood|equally likely"):
        option_scores("option-text", ["x"] * len(sums), sums)


def test_one_option_needs_no_difference():
    assert softmax(option_scores("option-text", ["x"], [-1.0])).tolist() == [1.0]


@given(st.lists(st.floats(-700, 0), min_size=1, max_size=26))
def test_probabilities_sum_to_one(scores):
    found = softmax(np.array(scores))
    assert found.sum() == pytest.approx(1.0)
    assert found[np.argmax(scores)] == found.max()


# -- tasks


def test_a_task_is_read_with_its_own_evidence(data):
    items = read_task("qasc", namespace="n", data=data, evidence="facts").items[:3]
    assert [item.query.input_id for item in items] == ["row-0", "row-1", "row-2"]
    assert items[1].evidence == ("F1",)
    assert items[1].query.gold == 1
    assert items[1].curated() == {"question": "What is 1?", "options": ["one", "two"], "evidence": ["F1"]}


def test_a_limit_draws_the_same_sample_whatever_the_order_of_the_rows(data):
    first = read_task("qasc", namespace="n", data=data, limit=10).items
    (data / "qasc.jsonl").write_text("".join(json.dumps(row) + "\n" for row in reversed(ROWS)))
    assert read_task("qasc", namespace="n", data=data, limit=10).items == first
    assert [item.query.input_id for item in first] != [row["id"] for row in ROWS[:10]]
    assert read_task("qasc", namespace="n", data=data, limit=20).items[:10] == first


def test_questions_without_an_answer_are_recognised(tmp_path):
    rows = [
        {"id": "a", "question": "Who?", "answer": "Insufficient information."},
        {"id": "b", "question": "When?", "unanswerable": True},
        {"id": "c", "question": "Where?", "answer": ["Rome", "Roma"], "unanswerable": False},
        {"id": "d", "question": "Why?"},
    ]
    (tmp_path / "task.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_task(str(tmp_path / "task.jsonl"), namespace="n")
    assert {item.query.input_id: item.query.gold for item in found.items} == {"a": (), "b": (), "c": ("Rome", "Roma")}
    assert found.left_out["unusable"] == 1


def test_the_halves_are_apart_whole_and_the_same_whatever_else_is_asked(data):
    halves = [
        {item.query.input_id for item in read_task("qasc", namespace="n", data=data, split=split).items}
        for split in ("development", "test")
    ]
    assert halves[0] & halves[1] == set()
    assert len(halves[0] | halves[1]) == len(ROWS)
    assert min(map(len, halves)) > len(ROWS) / 4
    assert in_split("row-7", "test") == ("row-7" in halves[1])


def test_a_file_of_ones_own_is_a_task(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text('{"question": "Is it wet?", "options": ["yes", "no"], "answer": "no"}\n\n')
    [item] = read_task(str(path), namespace="n").items
    assert item.query.gold == 1


def test_rows_that_cannot_be_asked_are_named_and_left_out(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("drag_graph.log.LOGGER.propagate", True)
    path = tmp_path / "mine.jsonl"
    good = '{"question": "Is it wet?", "options": ["yes", "no"], "answer": "no", "facts": "It is dry."}'
    bare = '{"question": "Is it cold?", "options": ["yes", "no"], "answer": "no"}'
    path.write_text(f'nonsense\n{good}\n\n{{"question": "Q?"}}\n{bare}\n')
    found = read_task(str(path), namespace="n", evidence="facts")
    assert [item.query.text for item in found.items] == ["Is it wet?"]
    assert found.left_out == {"unusable": 2, "without_evidence": 1, "repeated": 0}
    # Where pytest listens at two loggers, it hears each record twice.
    named = [record.drag_graph_fields for record in dict.fromkeys(caplog.records)]
    assert [(fields.get("task"), fields.get("line")) for fields in named] == [(str(path), 1), (str(path), 4), (str(path), None)]
    assert named[1]["why"] == 'no "answer" to compare with'
    assert named[2]["rows"] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}\n", "line 1: There is no question"),
        ('{"question": "Q?", "options": ["a", "b"]}\n', 'line 1: no "answer"'),
        ("nonsense\n", "line 1: Not JSON"),
        ("", "no item"),
    ],
)
def test_a_task_that_cannot_be_scored_is_an_error_in_words(tmp_path, text, said):
    path = tmp_path / "mine.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_task(str(path), namespace="n")


def test_an_unknown_task_is_an_error_that_names_the_known_ones(tmp_path):
    with pytest.raises(InputError, match="There is no task or file") as caught:
        read_task("qask", namespace="n")
    assert "qasc" in caught.value.hint
    with pytest.raises(InputError, match=r"neither qasc\.jsonl"):
        read_task("qasc", namespace="n", data=tmp_path)


# -- outcomes


def test_a_failed_item_counts_as_failed():
    found = figures([record("a"), record("b", correct=False, error="the model said nothing")])
    assert (found["n"], found["correct"], found["accuracy"], found["failed"]) == (2, 1, 0.5, 1)


def test_leakage_gives_the_accuracy_without_the_items_that_leak():
    found = leakage([record("a", leaking=1), record("b", correct=False), record("c")])
    assert found == {"items": 1, "accuracy_without": 0.5, "gain_without": None}


def test_two_outcomes_are_compared_on_what_both_have():
    ones = [record("a"), record("b"), record("c")]
    others = [record("b", correct=False), record("a"), record("d")]
    found = compare_records(ones, others).to_dict()
    assert (found["n"], found["difference"], found["p"]) == (2, 0.5, 1.0)
    assert [flip["id"] for flip in found["flipped"]] == ["b"]
    assert found["flipped"][0]["second"]["answer_id"] == "answer-b"
    with pytest.raises(InputError, match="no item in common"):
        compare_records(ones, [record("z")])
    elsewhere = [replace(one, id=f"{one.id} in another namespace") for one in others]
    assert compare_records(ones, elsewhere).n == 2


def test_a_line_that_a_crash_cut_off_counts_as_not_written(tmp_path):
    whole = json.dumps(asdict(record("a"))) + "\n"
    (tmp_path / ITEMS).write_text(whole + whole[: len(whole) // 2])
    assert read_records(tmp_path) == [record("a")]
    with pytest.raises(InputError, match="not the outcome"):
        read_records(tmp_path / "elsewhere")


def test_a_record_comes_back_as_it_was(tmp_path):
    kept = replace(record(), error="x", answer="one\u2028two\x85three")
    (tmp_path / ITEMS).write_text(json.dumps(asdict(kept), ensure_ascii=False) + "\n")
    assert read_records(tmp_path) == [kept]


def test_a_models_file_is_read_again_only_where_it_changed(tmp_path, monkeypatch):
    read = []
    digest = hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda file, kind: read.append(kind) or digest(file, kind))
    path = tmp_path / "model.gguf"
    path.write_bytes(b"one")
    first = file_hash(f"gguf:{path}")
    assert (file_hash(f"gguf:{path}"), len(read)) == (first, 1)
    path.write_bytes(b"another")
    assert file_hash(f"gguf:{path}") == hashlib.sha256(b"another").hexdigest() != first
    assert file_hash("nearest") == ""


def test_a_folder_with_the_name_of_a_package_has_no_version(tmp_path, monkeypatch):
    (tmp_path / "of_the_user").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(environment, "PACKAGES", ("numpy", "of_the_user"))
    assert versions() == {"numpy": np.__version__}
