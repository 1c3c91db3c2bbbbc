"""The students that are models: behind a scripted server, and in this process with weights made in the test."""

import logging
import math

import numpy as np
import pytest

from drag_graph.errors import (
    ContextOverflow,
    MalformedReply,
    ModelAccessDenied,
    ModelUnavailable,
    RefusedReply,
    ReplyError,
    TruncatedReply,
    UnknownModel,
)
from drag_graph.model import LABELS
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.model_catalogue import DEFAULT_CONTEXT_WINDOW
from drag_graph.models.model_choice import make_student
from drag_graph.models.model_server import Server
from drag_graph.models.students.causal_student import CausalStudent
from drag_graph.models.students.open_answers import REPHRASED
from drag_graph.models.students.served_student import ServedStudent
from drag_graph.models.transformers_runtime import TransformersModel
from drag_graph.settings import load_settings
from drag_graph.testing.server import Fault, Say, ScriptedServer
from drag_graph.testing.students import LINES, OPTIONS, StudentContract, make_prompt

# Pydantic complains about a type of LiteLLM's own when the first reply is read.
pytestmark = pytest.mark.filterwarnings("ignore:Item .* on TypedDict class:UserWarning")


def told(*alternatives, token=None):
    """Log-probabilities of one token: (token, probability) pairs, the first of which was said."""
    entries = [{"token": text, "logprob": math.log(value), "bytes": None} for text, value in alternatives]
    return {**(entries[0] if token is None else {"token": token, "logprob": -0.1}), "top_logprobs": entries}


@pytest.fixture
def server():
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def remote(server):
    return ServedStudent(Server("scripted", base_url=server.url, api_key="any", timeout=60))


class TestLiteLLM(StudentContract):
    @pytest.fixture
    def student(self, remote):
        return remote


class TestLiteLLMWithoutLogprobs(StudentContract):
    @pytest.fixture
    def student(self, server, remote):
        def letter(request):
            return Say("The answer is (A)." if "[OPTIONS]" in request.prompt else "It evaporates.")

        server.always("student", letter)
        return remote


def test_the_likeliest_letter_is_chosen_with_and_without_space(server, remote):
    content = [told((" B", 0.5), ("A", 0.2), (" A", 0.1), ("the", 0.1), ("C", 0.05), ("D", 0.01))]
    server.script("student", Say(" B", logprobs={"content": content}))
    reply = remote.answer(make_prompt(remote))
    total = 0.5 + 0.2 + 0.1 + 0.05 + 0.01
    assert reply.label == "B"
    assert reply.probabilities == pytest.approx([0.3 / total, 0.5 / total, 0.05 / total, 0.01 / total])
    assert reply.confidence == reply.probabilities[1]


@pytest.mark.parametrize(
    ("listed", "label", "confidence"),
    [([("B", 0.5)], "B", 0.5), ([("B", 0.3), ("A", 0.2), (" A", 0.2)], "A", 0.4)],
)
def test_a_letter_that_the_server_does_not_list_is_not_an_impossible_one(server, remote, listed, label, confidence):
    server.script("student", Say("B", logprobs={"content": [told(*listed)]}))
    reply = remote.answer(make_prompt(remote))
    assert (reply.label, reply.probabilities) == (label, ())
    assert reply.confidence == pytest.approx(confidence)


def test_of_letters_of_the_same_likelihood_the_one_that_was_said_is_chosen(server, remote):
    content = [told(("B", 0.3), ("A", 0.3), ("C", 0.2), ("D", 0.2))]
    server.script("student", Say("B", logprobs={"content": content}))
    reply = remote.answer(make_prompt(remote))
    assert (reply.label, reply.confidence) == ("B", pytest.approx(0.3))


def test_where_none_of_the_likeliest_letters_was_said_the_question_fails(server, remote):
    content = [told(("B", 0.25), ("A", 0.125), ("C", 0.125), (" A", 0.25), (" C", 0.25))]
    server.script("student", Say("B", logprobs={"content": content}))
    with pytest.raises(MalformedReply, match="equally likely"):
        remote.answer(make_prompt(remote))


def test_the_letter_of_the_answer_counts_and_no_article(server, remote):
    tokens = [
        told(("A", 0.4), ("The", 0.5)),
        told((" liquid", 0.9)),
        told((" so", 0.9)),
        told((" (", 0.9)),
        told(("A", 0.6), ("B", 0.2), ("C", 0.1), ("D", 0.1)),
    ]
    server.script("student", Say("A liquid so the answer is (A", logprobs={"content": tokens}))
    reply = remote.answer(make_prompt(remote))
    assert reply.probabilities == pytest.approx([0.6, 0.2, 0.1, 0.1])


def test_without_logprobs_the_letter_is_read_and_the_confidence_is_the_documented_constant(server, remote):
    server.script("student", Say("I think the answer is (B)."))
    reply = remote.answer(make_prompt(remote))
    assert (reply.label, reply.text, reply.confidence, reply.probabilities) == ("B", OPTIONS[1], 0.5, ())
    assert server.count("student") == 1


def test_a_reply_without_letter_is_asked_again_once(server, remote):
    server.script("student", Say("Hard to say."), Say("c)"))
    reply = remote.answer(make_prompt(remote))
    assert reply.label == "C"
    first, second = server.of("student")
    assert len(second.body["messages"]) == len(first.body["messages"]) + 2
    assert "letter" in second.body["messages"][-1]["content"]


def test_an_empty_reply_is_asked_again_without_an_empty_turn(server, remote):
    server.script("student", Say("<think>hm"), Say("B"))
    assert remote.answer(make_prompt(remote)).label == "B"
    assert [message["role"] for message in server.of("student")[1].body["messages"]] == ["system", "user"]


def test_no_letter_twice_is_no_label(server, remote):
    server.script("student", Say("Hard to say."), Say("Impossible."))
    reply = remote.answer(make_prompt(remote))
    assert (reply.label, reply.text, reply.confidence) == (None, "Hard to say.", 0.0)
    assert server.count("student") == 2


NO_LOGPROBS = Fault(400, message="logprobs are not supported")


@pytest.mark.parametrize("first", [[NO_LOGPROBS, Say("B")], [Say("B")]], ids=["rejects", "ignores"])
def test_a_server_without_logprobs_is_asked_without_from_then_on_aloud(server, remote, caplog, first):
    server.script("student", *first, Say("B"))
    assert remote.scoring == "letter"
    assert remote.answer(make_prompt(remote)).label == "B"
    assert remote.scoring == "reply"
    assert remote.answer(make_prompt(remote)).label == "B"
    assert ["logprobs" in request.body for request in server.of("student")] == [True, *[False] * len(first)]
    assert caplog.text.count("scoring=reply") == 1


def test_a_request_that_is_rejected_without_logprobs_too_changes_nothing(server, remote):
    server.script("student", *[Fault(400, message="maximum context length exceeded")] * 2)
    with pytest.raises(ReplyError):
        remote.answer(make_prompt(remote))
    remote.answer(make_prompt(remote))
    assert ["logprobs" in request.body for request in server.of("student")] == [True, False, True]


@pytest.mark.parametrize("first", [NO_LOGPROBS, Say("B")], ids=["rejects", "ignores"])
def test_the_letter_where_it_is_asked_for_by_name_is_not_replaced_by_the_reply(server, first):
    student = ServedStudent(Server("scripted", base_url=server.url), scoring="letter")
    server.script("student", first)
    with pytest.raises(ReplyError, match=r"log-?prob"):
        student.answer(make_prompt(student))
    assert server.count("student") == 1
    student.answer(make_prompt(student))
    assert student.scoring == "letter"


@pytest.mark.parametrize("scoring", ["letter", "reply"])
def test_a_student_tells_how_it_chooses(server, scoring):
    student = ServedStudent(Server("scripted", base_url=server.url), scoring=scoring)
    assert student.answer(make_prompt(student)).label is not None
    assert student.scoring == scoring
    assert ["logprobs" in request.body for request in server.of("student")] == [scoring == "letter"]


def test_a_server_that_rejects_logprobs_is_asked_without_by_each_thread_that_asked_with(server, remote):
    def answer(request):
        if "logprobs" not in request.body:
            return Say("B")
        if server.count("student") == 1:
            assert remote.answer(make_prompt(remote)).label == "B"  # another thread finds out meanwhile
        return Fault(400, message="logprobs are not supported")

    server.always("student", answer)
    assert remote.answer(make_prompt(remote)).label == "B"
    assert ["logprobs" in request.body for request in server.of("student")] == [True, True, False, False]


def test_the_student_sees_the_prompt_and_is_asked_at_temperature_0(server, remote):
    prompt = make_prompt(remote)
    remote.answer(prompt)
    (request,) = server.of("student")
    assert request.body["temperature"] == 0
    assert request.body["messages"][0]["role"] == "system"
    assert "Do not fabricate information." in request.body["messages"][0]["content"]
    assert all(text in request.prompt for _, text in LINES)


def test_an_open_question_is_answered_without_thoughts(server, remote):
    tokens = [*(told((text, 0.9)) for text in ("<think>", "hm", "</think>")), told(("Water", 0.25)), told((" boils", 1.0))]
    server.script("student", Say("<think>hm</think>Water boils", logprobs={"content": [*tokens, told(("<end>", 0.9))]}))
    reply = remote.answer(make_prompt(remote, options=()))
    assert reply.text == "Water boils"
    assert reply.confidence == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("say", "error"),
    [
        (Say("", finish_reason="length"), TruncatedReply),
        (Say(""), MalformedReply),
        (Say("", refusal="I will not"), RefusedReply),
    ],
)
def test_an_open_question_without_an_answer_is_an_error(server, remote, say, error):
    server.script("student", say, say)
    with pytest.raises(error):
        remote.answer(make_prompt(remote, options=()))


@pytest.mark.parametrize("say", [Say("", refusal="I will not"), Say("I'm sorry, but I can't assist with that.")])
def test_a_refusal_is_rephrased_once_and_then_reported(server, remote, say):
    server.script("student", say, Say("It boils [1]."))
    reply = remote.answer(make_prompt(remote, options=()))
    assert (reply.text, reply.refused) == ("It boils [1].", False)
    first, second = server.of("student")
    assert second.prompt.startswith(first.prompt)
    assert REPHRASED in second.prompt.removeprefix(first.prompt)


def test_a_second_refusal_is_reported(server, remote):
    server.script("student", Say("I cannot help with that."), Say("I'm sorry, I can't assist."))
    assert remote.answer(make_prompt(remote, options=())).refused


def test_an_answer_that_was_cut_off_is_marked(server, remote):
    server.script("student", Say("It boils and", finish_reason="length"))
    reply = remote.answer(make_prompt(remote, options=(), answer_tokens=40))
    assert (reply.text, reply.truncated) == ("It boils and", True)
    (request,) = server.of("student")
    assert request.body["max_tokens"] == 40


def test_parts_of_an_answer_are_handed_over_as_they_come(server, remote):
    server.script("student", Say("Water boils at 100 degrees."))
    parts = []
    reply = remote.answer(make_prompt(remote, options=()), parts.append)
    assert [part.strip() for part in parts] == ["Water", "boils", "at", "100", "degrees."]
    assert reply.text == "Water boils at 100 degrees."


@pytest.mark.parametrize("fault", [Fault(429), Fault(500)])
def test_a_failed_attempt_hands_over_nothing(server, remote, fault):
    server.script("student", fault, Say("Water boils."))
    parts = []
    assert remote.answer(make_prompt(remote, options=()), parts.append).text == "Water boils."
    assert "".join(parts) == "Water boils."


def test_a_refused_choice_is_an_error(server, remote):
    server.script("student", Say("", refusal="I will not"))
    with pytest.raises(RefusedReply):
        remote.answer(make_prompt(remote))


def test_a_refused_key_names_the_students_variable():
    with ScriptedServer(key="right") as server:
        student = ServedStudent(
            Server("scripted", base_url=server.url, api_key="wrong", key_variable="DRAG_GRAPH_STUDENT_API_KEY")
        )
        with pytest.raises(ModelAccessDenied) as caught:
            student.answer(make_prompt(student))
    assert "DRAG_GRAPH_STUDENT_API_KEY" in caught.value.hint


def test_the_context_window_comes_from_the_local_map_or_is_given(server):
    assert ServedStudent(Server("gpt-4o-mini")).context_window == 128_000
    assert ServedStudent(Server("never-heard-of", base_url=server.url)).context_window == DEFAULT_CONTEXT_WINDOW


# -- transformers


def save_model(folder, *, max_length=512, replaced=None, template=None):
    """Save a tiny Llama with random weights and a byte-level tokenizer, as `from_pretrained` wants them."""
    import torch
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={token: place for place, token in enumerate([*alphabet, "<s>", "</s>"])}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if replaced:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Replace(old, new) for old, new in replaced.items()])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", model_max_length=max_length)
    fast.chat_template = template
    fast.save_pretrained(folder)
    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=len(fast),
        hidden_size=64,  # whole blocks of 4 bit
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=4096,
        bos_token_id=fast.bos_token_id,
        eos_token_id=None,
        initializer_range=0.5,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def plain_model(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("plain"), max_length=4096)


@pytest.fixture(scope="module")
def chat_model(tmp_path_factory):
    template = (
        "{% for message in messages %}<s>{{ message['role'] }}\n{{ message['content'] }}</s>{% endfor %}"
        "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
    )
    return save_model(tmp_path_factory.mktemp("chat"), max_length=4096, template=template)


@pytest.fixture(scope="module")
def userless_model(tmp_path_factory):
    template = (
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
        "<s>{{ messages[0]['content'] }}</s>"
    )
    return save_model(tmp_path_factory.mktemp("userless"), max_length=4096, template=template)


@pytest.fixture(scope="module")
def long_letters_model(tmp_path_factory):
    """A tokenizer to which the letters A to D are one to four tokens."""
    return save_model(tmp_path_factory.mktemp("letters"), max_length=4096, replaced={"B": "qz", "C": "xyz", "D": "vwxy"})


def student_of(folder, scoring="letter"):
    return CausalStudent(TransformersModel(folder), scoring=scoring)


def test_a_seed_reaches_the_student(server, plain_model):
    import torch

    for place in ({"student": "scripted", "student_base_url": server.url}, {"student": f"transformers:{plain_model}"}):
        student = make_student(load_settings({**place, "seed": 7}), LexicalEmbedder())
        student.answer(make_prompt(student, options=()))
    assert [request.body["seed"] for request in server.of("student")] == [7]
    assert torch.initial_seed() == 7


class TestTransformers(StudentContract):
    @pytest.fixture
    def student(self, plain_model):
        return student_of(plain_model)


@pytest.mark.parametrize("scoring", ["option-text", "option-text-norm", "option-text-mutual-info"])
class TestTransformersByText(StudentContract):
    @pytest.fixture
    def student(self, plain_model, scoring):
        return student_of(plain_model, scoring)


class TestTransformersChat(StudentContract):
    @pytest.fixture
    def student(self, chat_model):
        return student_of(chat_model)


def plain_probabilities(folder, text, continuations):
    """Compute each option by itself, without padding: the log-probability of its tokens after the text."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    totals = []
    for continuation in continuations:
        ids = tokenizer(text + continuation, add_special_tokens=False).input_ids
        start = len(tokenizer(text, add_special_tokens=False).input_ids)
        with torch.inference_mode():
            found = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), dim=-1)
        totals.append(sum(float(found[place - 1, ids[place]]) for place in range(start, len(ids))))
    weights = np.exp(np.array(totals) - max(totals))
    return weights / weights.sum()


@pytest.mark.parametrize("fixture", ["plain_model", "long_letters_model"])
def test_letters_are_scored_as_one_by_one(request, fixture):
    folder = request.getfixturevalue(fixture)
    student = student_of(folder)
    prompt = make_prompt(student)
    reply = student.answer(prompt)
    wanted = plain_probabilities(folder, prompt.text, [f" {letter}" for letter in "ABCD"])
    assert reply.probabilities == pytest.approx(wanted, abs=1e-4)
    assert max(wanted) - min(wanted) > 0.01
    assert reply.label == LABELS[int(wanted.argmax())]


@pytest.mark.parametrize("fixture", ["plain_model", "long_letters_model"])
def test_texts_of_options_are_scored_as_one_by_one(request, fixture):
    folder = request.getfixturevalue(fixture)
    student = student_of(folder, "option-text")
    prompt = make_prompt(student)
    wanted = plain_probabilities(folder, prompt.text, [f" {option}" for option in OPTIONS])
    assert prompt.text.endswith("Answer:")
    assert student.answer(prompt).probabilities == pytest.approx(wanted, abs=1e-4)
    assert max(wanted) - min(wanted) > 0.01


def test_a_chat_template_is_put_around_the_prompt(chat_model):
    student = student_of(chat_model)
    prompt = make_prompt(student)
    system, user = prompt.text.removeprefix("[SYSTEM]\n").split("\n\n", 1)
    text = f"<s>system\n{system}</s><s>user\n{user}</s><s>assistant\n"
    assert student.answer(prompt).probabilities == pytest.approx(plain_probabilities(chat_model, text, "ABCD"), abs=1e-4)


def test_a_template_without_a_system_role_gets_one_message(userless_model):
    student = student_of(userless_model)
    prompt = make_prompt(student)
    text = f"<s>{prompt.text.removeprefix('[SYSTEM]' + chr(10))}</s>"
    assert student.answer(prompt).probabilities == pytest.approx(plain_probabilities(userless_model, text, "ABCD"), abs=1e-4)


def test_a_prompt_that_is_too_long_is_refused_with_sizes(plain_model, tmp_path):
    prompt = make_prompt(student_of(plain_model))
    small = student_of(save_model(tmp_path, max_length=50))
    with pytest.raises(ContextOverflow, match="can read only 50"):
        small.answer(prompt)


def test_the_context_window_is_the_smaller_of_model_and_tokenizer(tmp_path, plain_model):
    assert student_of(plain_model).context_window == 4096
    assert student_of(save_model(tmp_path, max_length=300)).context_window == 300


def test_a_folder_without_a_model_is_an_error_in_words(tmp_path):
    student = student_of(str(tmp_path))
    with pytest.raises(UnknownModel, match="Cannot load the student") as caught:
        student.count_tokens("water")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("quantisation", ["8bit", "4bit"])
def test_impossible_quantisation_logs_a_warning(plain_model, monkeypatch, caplog, quantisation):
    from drag_graph.models import transformers_runtime as module

    monkeypatch.setattr(module, "find_spec", lambda name: None if name == "bitsandbytes" else object())
    monkeypatch.setattr(module, "_device", lambda: "cpu")
    with caplog.at_level(logging.WARNING):
        student = TransformersModel(plain_model, quantisation=quantisation)
    assert student.rungs[0] == "cpu"
    assert quantisation in caplog.text


def test_weights_of_four_bits_run_on_any_machine(plain_model):
    pytest.importorskip("bitsandbytes")
    model, full = (TransformersModel(plain_model, quantisation=quantisation) for quantisation in ("4bit", "none"))
    student = CausalStudent(model)
    assert sum(student.answer(make_prompt(student)).probabilities) == pytest.approx(1)
    assert model.rungs[0] == "4bit"
    assert model._model().get_memory_footprint() < 0.6 * full._model().get_memory_footprint()


class Memory:
    """Stands in for the loader: out of memory for the settings named, then the real model on the CPU."""

    def __init__(self, load, *full):
        self.load, self.full, self.tried = load, full, []

    def __call__(self, source, *, rung, device, trust_remote_code):
        import torch

        self.tried.append(rung)
        if rung in self.full:
            raise torch.cuda.OutOfMemoryError("out of memory")
        return self.load(source, rung="cpu", device="cpu", trust_remote_code=trust_remote_code)


@pytest.mark.parametrize("options", [OPTIONS, ()])
def test_out_of_memory_goes_on_with_the_next_smaller_setting(plain_model, monkeypatch, caplog, options):
    from drag_graph.models import transformers_runtime as module

    memory = Memory(module._load, "none", "8bit")
    monkeypatch.setattr(module, "_load", memory)
    monkeypatch.setattr(module, "find_spec", lambda name: object())
    monkeypatch.setattr(module, "_device", lambda: "cuda")
    model = TransformersModel(plain_model)
    student = CausalStudent(model, scoring="letter")
    with caplog.at_level(logging.WARNING):
        reply = student.answer(make_prompt(student, options=options))
    assert memory.tried == ["none", "8bit", "4bit"]
    assert model.rungs[0] == "4bit"
    assert caplog.text.count("out of memory") == 2
    assert reply == student_of(plain_model).answer(make_prompt(student, options=options))


def test_out_of_memory_everywhere_is_an_error_in_words(plain_model, monkeypatch):
    from drag_graph.models import transformers_runtime as module

    memory = Memory(module._load, "none", "cpu")
    monkeypatch.setattr(module, "_load", memory)
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == "bitsandbytes" else object())
    monkeypatch.setattr(module, "_device", lambda: "cuda")
    student = student_of(plain_model)
    with pytest.raises(ModelUnavailable, match="memory"):
        student.answer(make_prompt(student))
    assert memory.tried == ["none", "cpu"]
