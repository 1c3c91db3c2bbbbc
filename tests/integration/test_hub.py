"""The public sets of `drag-graph eval`, loaded by `datasets` from small files with the layout and columns of the hub's."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from drag_graph.errors import InputError, MissingExtra
from drag_graph.evaluation.hub import TASKS, VERDICTS, gpqa, read_rows
from drag_graph.evaluation.tasks import read_task


def labelled(identity, question, texts, key, labels="ABCDEFGH", **more):
    choices = {"text": texts, "label": list(labels)[: len(texts)]}
    return {"id": identity, "question": question, "choices": choices, "answerKey": key, **more}


def readme(*configs):
    """The head of a data set's card: its configurations and the files of their splits."""
    lines = ["---", "configs:"]
    for config, splits in configs:
        lines += [f"- config_name: {config}", "  data_files:"]
        lines += [line for split, path in splits.items() for line in (f"  - split: {split}", f"    path: {path}")]
    return "\n".join([*lines, "---", ""])


def arc(folder):
    rows = [labelled("ARC_1", "What melts ice?", ["cold", "heat", "wind", "dust"], "2", labels="1234")]
    parquet(folder / "ARC-Challenge" / "test-00000-of-00001.parquet", rows)
    parquet(folder / "ARC-Challenge" / "train-00000-of-00001.parquet", [{**rows[0], "id": "train"}])
    parquet(folder / "ARC-Easy" / "test-00000-of-00001.parquet", [{**rows[0], "id": "easy"}])
    (folder / "README.md").write_text(
        readme(
            ("ARC-Challenge", {"train": "ARC-Challenge/train-*", "test": "ARC-Challenge/test-*"}),
            ("ARC-Easy", {"test": "ARC-Easy/test-*"}),
        )
    )
    return {"id": "ARC_1", "text": "What melts ice?", "options": ("cold", "heat", "wind", "dust"), "gold": 1}


def qasc(folder):
    facts = {"fact1": "Heat melts ice.", "fact2": "A stove gives heat.", "combinedfact": "A stove melts ice."}
    row = labelled("Q1", "What can melt ice?", ["a stove", "a stone"], "A", **facts, formatted_question="What? (A) (B)")
    parquet(folder / "data" / "validation-00000-of-00001.parquet", [row])
    unlabelled = {**row, "id": "T1", "answerKey": "", **dict.fromkeys(facts, "")}
    parquet(folder / "data" / "test-00000-of-00001.parquet", [unlabelled])
    (folder / "README.md").write_text(readme(("default", {"test": "data/test-*", "validation": "data/validation-*"})))
    evidence = ("Heat melts ice.", "A stove gives heat.")
    return {"id": "Q1", "text": "What can melt ice?", "options": ("a stove", "a stone"), "gold": 0, "evidence": evidence}


def commonsense_qa(folder):
    row = labelled("c1", "Where do you keep milk?", ["oven", "fridge", "shelf"], "B", question_concept="milk")
    parquet(folder / "data" / "validation-00000-of-00001.parquet", [row])
    (folder / "README.md").write_text(readme(("default", {"validation": "data/validation-*"})))
    return {"id": "c1", "text": "Where do you keep milk?", "options": ("oven", "fridge", "shelf"), "gold": 1}


def openbookqa(folder):
    row = labelled(
        "7-1",
        "Something that flies is",
        ["a bee", "a stone"],
        "A",
        fact1="bees fly",
        humanScore=0.8,
        clarity=1.5,
        turkIdAnonymized="t",
    )
    row["question_stem"] = row.pop("question")
    parquet(folder / "additional" / "test-00000-of-00001.parquet", [row])
    main = ("id", "question_stem", "choices", "answerKey")
    parquet(folder / "main" / "test-00000-of-00001.parquet", [{key: row[key] for key in main}])
    (folder / "README.md").write_text(readme(("main", {"test": "main/test-*"}), ("additional", {"test": "additional/test-*"})))
    wanted = {"id": "7-1", "text": "Something that flies is", "options": ("a bee", "a stone"), "gold": 0}
    return {**wanted, "evidence": ("bees fly",)}


def medmcqa(folder):
    options = {"opa": "rickets", "opb": "scurvy", "opc": "gout", "opd": "goitre"}
    head = {"id": "m-1", "question": "Lack of vitamin C gives:", **options, "cop": 1, "choice_type": "single"}
    row = {**head, "exp": "Ans. is scurvy", "subject_name": "Medicine", "topic_name": None}
    rows = [row, {**row, "id": "m-2", "question": "Which?", "exp": None, "cop": -1}]
    parquet(folder / "data" / "validation-00000-of-00001.parquet", rows)
    (folder / "README.md").write_text(readme(("default", {"validation": "data/validation-*"})))
    wanted = {"id": "m-1", "text": "Lack of vitamin C gives:", "options": tuple(options.values()), "gold": 1}
    return {**wanted, "evidence": ("Ans. is scurvy",), "domain": "medical"}


def medqa(folder):
    options = {"A": "rest", "B": "surgery", "C": "aspirin", "D": "water"}
    row = {"question": "A man has a headache. What helps?", "answer": "aspirin", "options": options, "meta_info": "step1"}
    lines(folder / "phrases_no_exclude_test.jsonl", [{**row, "answer_idx": "C", "metamap_phrases": ["man", "headache"]}])
    lines(
        folder / "phrases_no_exclude_train.jsonl",
        [{**row, "answer_idx": "C", "metamap_phrases": ["man"], "question": "Train?"}],
    )
    wanted = {"id": "medqa-0", "text": row["question"], "options": tuple(options.values()), "gold": 2}
    return {**wanted, "domain": "medical"}


def mmlu(folder):
    row = {"question": "1 + 1 is", "subject": "abstract_algebra", "choices": ["1", "2", "3", "4"], "answer": 1}
    parquet(folder / "all" / "test-00000-of-00001.parquet", [row])
    parquet(folder / "all" / "dev-00000-of-00001.parquet", [{**row, "question": "dev"}])
    (folder / "README.md").write_text(readme(("all", {"test": "all/test-*", "dev": "all/dev-*"})))
    return {"id": "mmlu-0", "text": "1 + 1 is", "options": ("1", "2", "3", "4"), "gold": 1}


def gpqa_main(folder):
    head = "Record ID,Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3,Explanation\n"
    (folder / "gpqa_main.csv").write_text(head + '"rec1","Which, if any?","right","wrong","worse","worst","as it is"\n')
    (folder / "gpqa_extended.csv").write_text(head)
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: gpqa_extended\n  data_files: gpqa_extended.csv\n"
        "- config_name: gpqa_main\n  data_files: gpqa_main.csv\n---\n"
    )
    row = gpqa(dict(zip(head.strip().split(","), ("rec1", "Which, if any?", "right", "wrong", "worse", "worst"), strict=False)))
    wanted = {"id": "rec1", "text": "Which, if any?", "options": tuple(row["options"]), "gold": row["options"].index("right")}
    return {**wanted, "domain": "technical"}


def averitec(folder):
    answer = {"answer": "No.", "answer_type": "Boolean", "source_url": "x", "source_medium": "Web text"}
    asked = [{"question": "Is it square?", "answers": [answer]}, {"question": "Who says so?", "answers": []}]
    row = {"claim": "The earth is square.", "label": "Refuted", "justification": "It is not.", "questions": asked}
    parquet(folder / "data" / "dev-00000-of-00001.parquet", [row])
    (folder / "README.md").write_text(readme(("default", {"dev": "data/dev-*"})))
    wanted = {"id": "averitec-0", "text": "The earth is square.", "options": VERDICTS, "gold": 1}
    return {**wanted, "evidence": ("Is it square? No.",)}


def webquestions(folder):
    row = {"url": "x", "question": "who wrote hamlet?", "answers": ["Shakespeare", "William Shakespeare"]}
    parquet(folder / "data" / "test-00000-of-00001.parquet", [row])
    (folder / "README.md").write_text(readme(("default", {"test": "data/test-*"})))
    return {"id": "webquestions-0", "text": "who wrote hamlet?", "options": (), "gold": ("Shakespeare", "William Shakespeare")}


def open_llm_leaderboard(folder):
    options = [{"label": "A", "text": "the sun"}, {"label": "B", "text": "the moon"}]
    row = {"question": "What warms us?", "options": options, "answerKey": "A", "dataset": "ARC", "passage": "-"}
    lines(folder / "questions" / "ARC.json", [row])
    lines(folder / "Large" / "gpt4" / "ARC.json", [{"question": "q", "os_answer": "a"}])
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: gpt4\n  data_files: Large/gpt4/*.json\n"
        "- config_name: questions\n  data_files: questions/*.json\n---\n"
    )
    return {"id": "open_llm_leaderboard-0", "text": "What warms us?", "options": (), "gold": "the sun"}


WRITERS = {"arc_challenge": arc, "gpqa": gpqa_main} | {
    writer.__name__: writer
    for writer in (qasc, commonsense_qa, openbookqa, medmcqa, medqa, mmlu, averitec, webquestions, open_llm_leaderboard)
}


def parquet(path, rows):
    from pyarrow import Table
    from pyarrow.parquet import write_table

    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(Table.from_pylist(rows), path)


def lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(autouse=True)
def datasets(tmp_path, monkeypatch):
    """The library, with a cache of the test's own; it takes seconds to import, so only here."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()
    return datasets


@pytest.fixture
def copy(tmp_path):
    """Write a task's set as `hf download` would; return the folder for --data and what its item has."""

    def write(name):
        folder = tmp_path / "sets" / TASKS[name].path
        folder.mkdir(parents=True)
        return tmp_path / "sets", WRITERS[name](folder)

    return write


@pytest.mark.parametrize("name", TASKS)
def test_a_set_is_read_as_it_is_on_the_hub(copy, name):
    data, wanted = copy(name)
    [item] = read_task(name, namespace="n", data=data, evidence="evidence" if "evidence" in wanted else "").items
    query = item.query
    found = {"id": query.input_id, "text": query.text, "options": query.options, "gold": query.gold}
    assert {**found, "evidence": item.evidence, "domain": query.domain} == {"evidence": (), "domain": "general", **wanted}


def test_a_row_that_cannot_be_asked_is_left_out_aloud(copy, caplog, monkeypatch):
    data, _ = copy("medmcqa")  # its second row has no answer
    monkeypatch.setattr("drag_graph.log.LOGGER.propagate", True)
    assert [item.query.input_id for item in read_task("medmcqa", namespace="n", data=data).items] == ["m-1"]
    assert "left out" in caplog.text


def test_the_options_of_gpqa_have_an_order_of_their_own_that_stays():
    wrong = {f"Incorrect Answer {number}": f"wrong {number}" for number in (1, 2, 3)}
    rows = [{"Record ID": f"rec{number}", "Question": "Q?", "Correct Answer": "right", **wrong} for number in range(200)]
    answers = [gpqa(row)["answer"] for row in rows]
    assert all(gpqa(row)["options"][answer] == "right" for row, answer in zip(rows, answers, strict=True))
    assert answers == [gpqa(row)["answer"] for row in rows]
    assert min(answers.count(place) for place in range(4)) > 30


def test_the_first_rows_are_of_the_whole_set(tmp_path):
    folder = tmp_path / TASKS["webquestions"].path
    rows = [{"url": "x", "question": f"who is {number}?", "answers": ["a"]} for number in range(100)]
    parquet(folder / "data" / "test-00000-of-00001.parquet", rows)
    first = [item.query.input_id for item in read_task("webquestions", namespace="n", data=tmp_path, limit=10).items]
    places = sorted(int(identity.rpartition("-")[2]) for identity in first)
    assert places[0] < 40
    assert places[-1] > 60
    longer = [item.query.input_id for item in read_task("webquestions", namespace="n", data=tmp_path, limit=20).items]
    assert longer[:10] == first


def test_a_file_of_ones_own_form_wins_over_a_copy_of_the_hubs(copy):
    data, _ = copy("qasc")
    lines(data / "qasc.jsonl", [{"question": "Mine?", "options": ["a", "b"], "answer": 1}])
    [item] = read_task("qasc", namespace="n", data=data).items
    assert item.query.text == "Mine?"


def test_other_columns_are_an_error_in_words(tmp_path):
    folder = tmp_path / TASKS["qasc"].path
    parquet(folder / "data" / "validation-00000-of-00001.parquet", [{"prompt": "x"}])
    with pytest.raises(InputError, match=r"The columns of .* have changed"):
        read_rows("qasc", tmp_path)


def test_offline_says_where_else_the_rows_can_come_from(datasets, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match=r"Cannot read qasc from allenai/qasc: .*reach") as caught:
        read_rows("qasc")
    assert "`data=FOLDER`" in caught.value.hint
    assert "hf download allenai/qasc" in caught.value.hint


class Gate(BaseHTTPRequestHandler):
    """Answers as the hub does who asks for a gated set without having accepted its terms."""

    def do_HEAD(self):
        self.send_response(401)
        self.send_header("X-Error-Code", "GatedRepo")
        self.end_headers()

    do_GET = do_HEAD  # noqa: N815 - what the base class calls

    def log_message(self, *args):
        """Say nothing."""


def test_a_gated_set_says_what_to_do(datasets, monkeypatch):
    with HTTPServer(("127.0.0.1", 0), Gate) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(datasets.config, "HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        with pytest.raises(InputError, match="gated") as caught:
            read_rows("gpqa")
        server.shutdown()
    assert "Accept the terms" in caught.value.hint
    assert "HF_TOKEN" in caught.value.hint


def test_without_datasets_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra) as caught:
        read_rows("qasc")
    assert "drag-graph[evaluation]" in caught.value.hint
