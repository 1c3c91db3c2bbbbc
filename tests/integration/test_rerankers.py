"""Rerankers: behind a scripted server, and in this process with weights made in the test."""

import json

import pytest
from tiny_gguf import write_tiny_gguf

from drag_graph.app.resources import Resources
from drag_graph.ask.context_lines import candidate_lines
from drag_graph.ask.reranking import private_refs, reranked
from drag_graph.compose.document_setup import make_ingester
from drag_graph.compose.model_factories import privacy_level, reranker_is_here
from drag_graph.documents.document_files import files_in
from drag_graph.errors import ConfigurationError, ModelAccessDenied, ModelUnavailable, ReplyError, UnknownModel, Withheld
from drag_graph.models.gguf_runtime import GgufModel
from drag_graph.models.model_choice import make_reranker
from drag_graph.models.model_server import Server
from drag_graph.models.rerankers.cross_encoder import CrossEncoderReranker
from drag_graph.models.rerankers.likelihood_reranker import LikelihoodReranker
from drag_graph.models.rerankers.served_reranker import ServedReranker
from drag_graph.privacy import privacy_gate
from drag_graph.settings import Settings
from drag_graph.testing.rerankers import QUESTION, TEXTS, RerankerContract
from drag_graph.testing.rewriting import ToldRewriter
from drag_graph.testing.server import RERANK, Fault, Say, ScriptedServer

pytestmark = pytest.mark.filterwarnings("ignore:Item .* on TypedDict class:UserWarning")
PERSON = "Jonas Wexelblat"
CLINIC = "The clinic of the town has nurses at night.\n\nThe clinic of the town is open on every day of the year."


@pytest.fixture
def server():
    with ScriptedServer(key="secret") as running:
        yield running


@pytest.fixture
def served(server):
    return ServedReranker(Server("scripted", base_url=server.url, api_key="secret", sleep=lambda _seconds: None))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """Return a function that writes a tiny BERT with so many outputs, or without a head, and returns its folder."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizer

    def write(labels):
        folder = tmp_path_factory.mktemp("encoder")
        words = {word for text in (QUESTION, *TEXTS) for word in text.lower().replace(".", "").replace("?", "").split()}
        (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?", *sorted(words)]))
        tokenizer = BertTokenizer(str(folder / "vocab.txt"))
        tokenizer.save_pretrained(folder)
        size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
        torch.manual_seed(3)
        config = BertConfig(vocab_size=len(tokenizer), num_labels=labels or 2, initializer_range=1.0, **size)
        (BertForSequenceClassification(config) if labels else BertModel(config)).save_pretrained(folder)
        return folder

    return write


class TestServed(RerankerContract):
    @pytest.fixture
    def reranker(self, served):
        return served


class TestCohereThroughLiteLLM(RerankerContract):
    @pytest.fixture
    def reranker(self, server):
        address = server.url.removesuffix("/v1")
        return ServedReranker(Server("cohere/rerank-v3.5", base_url=address, api_key="secret", timeout=60))


@pytest.mark.parametrize("labels", [1, 2])
class TestCrossEncoder(RerankerContract):
    @pytest.fixture
    def reranker(self, encoder, labels):
        return CrossEncoderReranker(str(encoder(labels)))


@pytest.mark.parametrize("template", [False, True])
class TestGguf(RerankerContract):
    @pytest.fixture
    def reranker(self, tmp_path, template):
        return LikelihoodReranker(GgufModel(str(write_tiny_gguf(tmp_path / "tiny.gguf", template=template))))


def test_a_question_is_one_call_with_all_texts(server, served):
    order = reranked(QUESTION, range(len(TEXTS)), TEXTS, served)
    assert order[0] == 1
    [request] = server.requests
    assert request.path == "/v1/rerank"
    assert request.body["query"] == QUESTION
    assert request.body["documents"] == list(TEXTS)


@pytest.mark.parametrize(
    "results",
    [
        [],
        [{"index": 0, "relevance_score": 1.0}],
        [{"index": 0, "relevance_score": 1.0}, {"index": 0, "relevance_score": 0.5}],
        [{"index": 0, "relevance_score": 1.0}, {"index": 1, "relevance_score": "nan"}],
        [{"index": 0, "relevance_score": 1.0}, {"index": 1}],
        [0.5, 0.1],
    ],
)
def test_unusable_scores_are_an_error(server, served, results):
    server.script(RERANK, Say({"results": results}))
    with pytest.raises(ModelUnavailable, match="unusable scores"):
        served.scores(QUESTION, TEXTS[:2])


@pytest.mark.parametrize(
    ("fault", "error"), [(Fault(401), ModelAccessDenied), (Fault(404), UnknownModel), (Fault(422, message="s"), ReplyError)]
)
def test_an_error_of_the_server_is_named_and_quotes_no_text(server, served, fault, error):
    server.script(RERANK, Fault(fault.status, message=f"cannot rerank {QUESTION} {TEXTS[0]}"))
    with pytest.raises(error) as caught:
        served.scores(QUESTION, TEXTS)
    assert QUESTION not in str(caught.value)
    assert TEXTS[0] not in str(caught.value)


def test_a_busy_server_is_asked_again(server, served):
    server.script(RERANK, Fault(503))
    assert len(served.scores(QUESTION, TEXTS)) == len(TEXTS)
    assert len(server.of(RERANK)) == 2


def test_a_cross_encoder_reads_a_question_in_one_batch(encoder, monkeypatch):
    reranker = CrossEncoderReranker(str(encoder(1)))
    together = reranker.scores(QUESTION, TEXTS)
    model, batches = reranker._loaded[1], []
    forward = model.forward
    monkeypatch.setattr(model, "forward", lambda **given: batches.append(len(given["input_ids"])) or forward(**given))
    assert reranker.scores(QUESTION, TEXTS) == together
    assert batches == [len(TEXTS)]


def test_what_is_not_a_cross_encoder_is_refused(encoder):
    with pytest.raises(UnknownModel, match="not a cross-encoder"):
        CrossEncoderReranker(str(encoder(0))).scores(QUESTION, TEXTS)
    with pytest.raises(UnknownModel, match="not a cross-encoder"):
        CrossEncoderReranker(str(encoder(5))).scores(QUESTION, TEXTS)
    with pytest.raises(UnknownModel, match="Cannot load the reranker 'no/such-model'"):
        CrossEncoderReranker("no/such-model").scores(QUESTION, TEXTS)


def test_a_likelihood_prefers_yes_to_no():
    class Model:
        name, context_window, follows_instructions = "m", 100, False

        def tokens(self, text, form):
            return [ord(letter) for letter in text[-40:]]

        def log_probabilities(self, prompt, continuations):
            return [[-1.0 if chr(ids[-1]) == "s" else -3.0] for ids in continuations]

    assert LikelihoodReranker(Model()).scores("q", ["a", "b"]) == [2.0, 2.0]


def test_the_setting_chooses_the_reranker(tmp_path, encoder):
    folder, file = encoder(1), write_tiny_gguf(tmp_path / "tiny.gguf")
    assert make_reranker(Settings()) is None
    for name, kind in {
        str(folder): CrossEncoderReranker,
        f"transformers:{folder}": CrossEncoderReranker,
        f"gguf:{file}": LikelihoodReranker,
        "cohere/rerank-v3.5": ServedReranker,
    }.items():
        assert isinstance(make_reranker(Settings(reranker=name)), kind), name
        assert reranker_is_here(Settings(reranker=name)) is (kind is not ServedReranker)
    with pytest.raises(UnknownModel, match="Unknown reranker model 'rerank-v35'"):
        privacy_level(Settings(reranker="rerank-v35", embedder="lexical"), asks=True)


def test_a_remote_reranker_turns_the_privacy_gate_on():
    chosen = Settings(reranker="cohere/rerank-v3.5", embedder="lexical")
    assert privacy_level(chosen, asks=True) == "standard"
    assert privacy_level(chosen.model_copy(update={"teacher": "curated:f"})) == "off", "only asking uses it"
    local = Settings(reranker="any", reranker_base_url="http://127.0.0.1:9/v1", embedder="lexical")
    assert privacy_level(local, asks=True) == "off"


def test_a_remote_reranker_without_a_gate_is_refused():
    with pytest.raises(ConfigurationError, match="no privacy gate"):
        ServedReranker(Server("scripted", base_url="http://192.0.2.1/v1")).scores(QUESTION, TEXTS)


def test_a_remote_reranker_sees_no_private_line_and_no_original(tmp_path, server, monkeypatch):
    monkeypatch.setattr(privacy_gate, "local_rewriter", lambda _level: ToldRewriter({PERSON: ("PERSON", "Person A")}))
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "told.txt").write_text(f"{PERSON} visits the clinic of the town.\n\n{CLINIC}")
    away = server.url.replace("127.0.0.1", "127.1")  # counts as another machine
    given = {"store": str(tmp_path / "graph.lbug"), "embedder": "lexical", "reranker": "any", "reranker_api_key": "secret"}
    with Resources(Settings(**given, reranker_base_url=away)).writing(asks=True) as session:
        report = make_ingester(session, "library").run(files_in([tmp_path / "library"]))
        subgraphs = session.store.read([item.id for item in report.documents])
        lines = candidate_lines(subgraphs, "evidence")
        texts = [line.text for line in lines]
        private = private_refs(lines, subgraphs, session.gate)
        withheld = {place for place, line in enumerate(lines) if line.ref in private}
        assert [PERSON in texts[place] for place in withheld] == [True]
        order = reranked("Is the clinic open on a day?", lines, texts, session.reranker(), withheld=withheld)
        assert [word in line.text for line, word in zip(order, (PERSON, "open", "nurses"), strict=True)] == [True] * 3
        with pytest.raises(Withheld):  # a second guard, at the place where bytes leave
            session.reranker().scores("q", ["Write to jonas@example.org.", "b"])
        assert session.reranker() is session.reranker()
    [request] = server.of(RERANK)
    assert PERSON not in json.dumps(request.body)
    assert len(request.body["documents"]) == len(lines) - 1
