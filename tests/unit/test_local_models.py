"""Any model of sentence-transformers by the extra `local`: a tiny multilingual one, made here, with prompts of its own."""

import json
import shutil

import numpy as np
import pytest

from drag_graph.errors import MissingExtra
from drag_graph.models.embedders import local_embedder
from drag_graph.models.embedders.local_embedder import LocalEmbedder
from drag_graph.models.model_choice import is_here, make_embedder
from drag_graph.settings import Settings

TEXTS = ["Der Zug fährt", "火车开", "รถไฟ", "a much longer text about trains " * 9]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An XLM-RoBERTa of 16 numbers a token that reads characters, with a prompt for queries and one for passages."""
    import torch
    from sentence_transformers import SentenceTransformer
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

    place = tmp_path_factory.mktemp("made")
    vocabulary = {
        word: number
        for number, word in enumerate(["<s>", "<pad>", "</s>", "<unk>", *map(chr, range(32, 127)), *"äöü火车开รถไฟ"])
    }
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", None, [("<s>", 0), ("</s>", 2)])
    marks = {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "cls_token": "<s>",
        "sep_token": "</s>",
    }
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **marks).save_pretrained(place / "bare")
    torch.manual_seed(7)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = XLMRobertaConfig(
        vocab_size=len(vocabulary), max_position_embeddings=70, pad_token_id=1, initializer_range=0.5, **sizes
    )
    XLMRobertaModel(config).save_pretrained(place / "bare")
    prompts = {"query": "query: ", "passage": "passage: "}
    SentenceTransformer(str(place / "bare"), prompts=prompts, device="cpu").save(str(place / "tiny"))
    return place / "tiny"


@pytest.fixture(scope="module")
def library(folder):
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu")


@pytest.fixture(scope="module")
def tiny(folder):
    return LocalEmbedder(str(folder))


def test_documents_and_queries_get_the_prompts_of_the_configuration(tiny, library):
    for prompt, rows in (("passage: ", tiny.embed(TEXTS)), ("query: ", tiny.embed_queries(TEXTS))):
        for text, row in zip(TEXTS, rows, strict=True):
            expected = library.encode(prompt + text, prompt="")
            assert np.allclose(row, expected / np.linalg.norm(expected), atol=1e-5)
    assert not np.allclose(tiny.embed(TEXTS), tiny.embed_queries(TEXTS), atol=0.01)
    assert (tiny.embed(TEXTS) == tiny.embed(TEXTS)).all(), "the vectors of queries are cached apart"
    assert tiny.dimension == 16
    assert tiny.count_tokens("火车开 ab") == 6


def test_a_vector_does_not_depend_on_its_neighbours(folder):
    alone = [LocalEmbedder(str(folder)).embed([text])[0] for text in TEXTS]
    assert (np.stack(alone) == LocalEmbedder(str(folder)).embed(TEXTS)).all()


def test_blank_texts_are_zero_rows_and_no_texts_an_empty_array(tiny):
    assert not tiny.embed_queries(["", " "]).any()
    assert tiny.embed_queries([]).shape == (0, 16)


def test_another_prompt_is_another_model(folder, tmp_path):
    other = shutil.copytree(folder, tmp_path / folder.name)
    path = other / "config_sentence_transformers.json"
    path.write_text(path.read_text().replace("passage: ", "Passage: "))
    assert LocalEmbedder(str(other)).name != LocalEmbedder(str(folder)).name


def test_a_bert_model_without_prompts_needs_no_library(folder, tmp_path, monkeypatch):
    minilm = shutil.copytree(LocalEmbedder()._model_folder(), tmp_path / "minilm")
    monkeypatch.setattr(local_embedder, "find_spec", lambda name: None if name == "sentence_transformers" else object())
    plain = LocalEmbedder(str(minilm))
    assert (plain.embed_queries(["a text"]) == plain.embed(["a text"])).all()
    with pytest.raises(MissingExtra) as caught:
        LocalEmbedder(str(folder)).embed(["a text"])
    assert "drag-graph[local]" in caught.value.hint
    (minilm / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "query: "}}))
    with pytest.raises(MissingExtra, match="prompts"):
        LocalEmbedder(str(minilm)).embed(["a text"])


@pytest.mark.parametrize("name", ["sentence-transformers:intfloat/multilingual-e5-small", "sentence-transformers/LaBSE"])
def test_any_hub_name_can_be_chosen_and_stays_here(name):
    settings = Settings(embedder=name)
    assert is_here(settings.model_for("embedder"))
    embedder = make_embedder(settings)
    assert isinstance(embedder, LocalEmbedder)
    assert embedder.name == name, "what the store records can be chosen again"
