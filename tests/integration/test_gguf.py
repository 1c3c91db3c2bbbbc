"""A student that is a GGUF file: llama.cpp in this process, with a model of a few kilobytes that the test makes."""

import math
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from tiny_gguf import write_tiny_gguf

from drag_graph.errors import ConfigurationError, ModelUnavailable, UnknownModel
from drag_graph.models import gguf_runtime as gguf
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.gguf_runtime import GgufModel, LlamaServer, chat_server, has_chat_template, recorded_name
from drag_graph.models.model_choice import make_student
from drag_graph.models.students.causal_student import CausalStudent
from drag_graph.settings import load_settings
from drag_graph.testing.students import StudentContract, make_prompt

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return write_tiny_gguf(tmp_path_factory.mktemp("gguf") / "plain.gguf")


@pytest.fixture(scope="module")
def instruct(tmp_path_factory):
    return write_tiny_gguf(tmp_path_factory.mktemp("gguf") / "instruct.gguf", template=True, seed=1)


@pytest.mark.parametrize("scoring", ["letter", "option-text", "option-text-norm", "option-text-mutual-info"])
class TestPlain(StudentContract):
    @pytest.fixture
    def student(self, plain, scoring):
        return CausalStudent(GgufModel(str(plain)), scoring=scoring)


class TestInstruct(StudentContract):
    @pytest.fixture
    def student(self, instruct):
        return CausalStudent(GgufModel(str(instruct)))


def test_what_does_not_fit_into_the_memory_is_loaded_with_a_smaller_context_aloud(plain, monkeypatch, caplog):
    library = gguf._library()
    load = library.Server

    def with_little_memory(parameters):
        if parameters.n_ctx > 4096:
            raise RuntimeError("failed to allocate")
        return load(parameters)

    LlamaServer.unload()
    with monkeypatch.context() as patched:
        patched.setattr(library, "Server", with_little_memory)
        server = LlamaServer.of(plain)
    assert "does not fit with a context of 8192 tokens; trying 4096" in caplog.text
    assert server.context_window <= 4096


def listed(server, before, token):
    """Return the log-probability of a token from the list of all that could come next, with nothing forced."""
    document = {"prompt": before, "n_predict": 1, "n_probs": server.vocabulary, "temperature": 0, "cache_prompt": False}
    for seed in range(20):  # what is drawn must be a whole character, else nothing is told
        bias = [[40 + seed, 1e4]]
        reply = server.ask("/completion", {**document, "logit_bias": bias, "samplers": ["temperature"]})
        for place in reply.get("completion_probabilities", ()):
            return next(entry["logprob"] for entry in place["top_logprobs"] if entry["id"] == token)
    raise AssertionError("no list was told")


def test_the_likelihood_of_a_text_is_the_sum_over_its_tokens_one_by_one(plain):
    model, server = GgufModel(str(plain)), LlamaServer.of(plain)
    prompt = model.tokens("Question: what is wet?\nAnswer:", "text")
    texts = [model.tokens(text, "part") for text in (" water", " sand and stone", " \u6f22\U0001f9ea")]
    found = model.log_probabilities(prompt, texts)
    for ids, values in zip(texts, found, strict=True):
        assert len(values) == len(ids)
        for place, (token, value) in enumerate(zip(ids, values, strict=True)):
            assert value == pytest.approx(listed(server, [*prompt, *ids[:place]], token), abs=2e-3)
    assert all(value < 0 for values in found for value in values)


def test_all_that_can_come_next_sums_to_one(plain):
    server = LlamaServer.of(plain)
    document = {"prompt": [1, 60], "n_predict": 1, "n_probs": server.vocabulary, "logit_bias": [[68, 1e4]], "temperature": 0}
    [place] = server.ask("/completion", {**document, "samplers": ["temperature"]})["completion_probabilities"]
    assert math.fsum(math.exp(entry["logprob"]) for entry in place["top_logprobs"]) == pytest.approx(1.0, abs=1e-3)


def test_a_chat_template_is_what_makes_a_model_follow_instructions(plain, instruct):
    assert not has_chat_template(plain)
    assert has_chat_template(instruct)
    model = GgufModel(str(instruct))
    prompt = make_prompt(CausalStudent(model, scoring="letter"))
    text = model.chat(prompt)
    assert text.count("user\n") == 1
    assert text.endswith("assistant\n")


def test_a_seed_reaches_the_model(plain, monkeypatch):
    ask, seeds = LlamaServer.ask, []

    def noted(server, path, document=None):
        seeds.append((document or {}).get("seed"))
        return ask(server, path, document)

    monkeypatch.setattr(LlamaServer, "ask", noted)
    student = make_student(load_settings({"student": f"gguf:{plain}", "seed": 7}), LexicalEmbedder())
    student.answer(make_prompt(student, options=()))
    assert 7 in seeds


def test_one_model_is_in_memory_at_a_time(plain, instruct):
    first = LlamaServer.of(plain)
    assert LlamaServer.of(plain) is first
    second = LlamaServer.of(instruct)
    assert second is not first
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"{first.address}/health", timeout=5, trust_env=False).raise_for_status()
    student = CausalStudent(GgufModel(str(plain)))  # comes back by itself
    assert student.answer(make_prompt(student)).label is not None


def test_a_server_that_does_not_answer_is_told_in_words(plain, monkeypatch):
    server = LlamaServer.of(plain)
    monkeypatch.setattr(server, "_client", httpx.Client(base_url="http://127.0.0.1:9", trust_env=False))
    with pytest.raises(ModelUnavailable, match=r"plain\.gguf does not answer: ConnectError"):
        server.ask("/props")


def test_nobody_without_the_key_is_answered_and_it_listens_on_the_loopback(plain):
    server = LlamaServer.of(plain)
    assert server.address.startswith("http://127.0.0.1:")
    assert httpx.post(f"{server.address}/completion", json={"prompt": "x"}, trust_env=False).status_code == 401


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [("missing.gguf", None, "Cannot read"), ("text.gguf", b"no model", "is not a GGUF file")],
)
def test_a_file_that_is_no_model_is_refused_in_words(tmp_path, name, content, said):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UnknownModel, match=said):
        GgufModel(str(path))


def test_a_file_that_is_cut_off_is_refused_in_words(tmp_path, plain):
    path = tmp_path / "cut.gguf"
    path.write_bytes(plain.read_bytes()[:5000])
    student = CausalStudent(GgufModel(str(path)))
    with pytest.raises(ModelUnavailable, match=r"cannot load cut\.gguf"):
        student.answer(make_prompt(student))


def test_settings_choose_it(plain, tmp_path):
    student = make_student(load_settings({"student": f"gguf:{plain}", "scoring": "option-text-norm"}), embedder=None)
    assert (student.name, student.scoring) == ("gguf:plain.gguf", "option-text-norm")
    with pytest.raises(ConfigurationError, match="is not a model of this process"):
        make_student(load_settings({"student": "gguf:"}), embedder=None)
    with pytest.raises(ConfigurationError, match="is served"):
        make_student(load_settings({"student": "ollama/x", "scoring": "option-text"}), embedder=None)
    with pytest.raises(ConfigurationError, match="nearest does not support `scoring=letter`"):
        make_student(load_settings({"student": "nearest", "scoring": "letter"}), embedder=None)


def test_it_loads_beside_an_open_embedded_store(plain, tmp_path):
    """In a process of its own: the engine's functions have the names of llama.cpp's, and a mix-up ends the process."""
    script = f"""
import sys
sys.path[:0] = [{str(TESTS)!r}]
from pathlib import Path
from drag_graph.models.gguf_runtime import GgufModel
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
with LadybugStore(Path({str(tmp_path / "graph.lbug")!r})) as store:
    store.migrate()
    print(len(GgufModel({str(plain)!r}).tokens("ab", "text")))
"""
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stdout) == (0, "3\n"), ran.stderr[-500:]
    assert "unclosed" not in ran.stderr


def test_a_teacher_is_recorded_under_the_files_name_and_hash(plain):
    assert recorded_name(str(plain)).startswith("gguf:plain.gguf#")
    assert chat_server(str(plain), timeout=5).base_url == f"{LlamaServer.of(plain).address}/v1"
