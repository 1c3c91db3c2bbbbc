"""What of the environment goes to the workers of a cluster (docs/ray.md)."""

import os

import pytest

from drag_graph.jobs.ray.ray_distillation import _secrets
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.embedders.served_embedder import ServedEmbedder
from drag_graph.models.litellm_library import load_litellm
from drag_graph.models.model_server import Server
from drag_graph.models.provider_variables import provider_variables
from drag_graph.settings import load_settings


@pytest.fixture
def nothing_set(monkeypatch):
    """No variable is set that LiteLLM could take for a provider's."""
    litellm = load_litellm()
    for name in set(os.environ) - {"PATH", "HOME", "LITELLM_LOCAL_MODEL_COST_MAP", "HF_HUB_OFFLINE"}:
        monkeypatch.delenv(name)
    return litellm


def test_all_that_litellm_asks_for_is_passed_for_every_provider(nothing_set, monkeypatch):
    asked = {
        provider.value: nothing_set.validate_environment(model=f"{provider.value}/any")["missing_keys"]
        for provider in nothing_set.LlmProviders
    }
    assert len([names for names in asked.values() if names]) > 30
    for names in asked.values():
        for name in names:
            monkeypatch.setenv(name, "a value")
    for provider, names in asked.items():
        assert set(names) <= set(provider_variables(provider)), provider


@pytest.mark.parametrize(
    ("provider", "names"),
    [
        ("openai", {"OPENAI_API_KEY", "OPENAI_ORGANIZATION"}),
        ("bedrock", {"AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "AWS_REGION_NAME"}),
        ("vertex_ai", {"VERTEXAI_PROJECT", "VERTEX_LOCATION", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"}),
        ("gemini", {"GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"}),
        ("azure_ai", {"AZURE_API_KEY", "AZURE_TENANT_ID"}),
        ("together_ai", {"TOGETHERAI_API_KEY"}),
        ("xai", {"XAI_API_KEY"}),
        ("ollama_chat", {"OLLAMA_API_BASE"}),
    ],
)
def test_a_provider_gets_its_own_and_nothing_else(nothing_set, monkeypatch, provider, names):
    for name in (
        *("OPENAI_API_KEY", "OPENAI_ORGANIZATION", "OPENAIR_TOKEN", "OPENROUTER_API_KEY", "AWS_ACCESS_KEY_ID"),
        *("AWS_SESSION_TOKEN", "AWS_REGION_NAME", "VERTEXAI_PROJECT", "VERTEX_LOCATION", "GOOGLE_API_KEY"),
        *("GOOGLE_APPLICATION_CREDENTIALS", "AZURE_API_KEY", "AZURE_TENANT_ID", "TOGETHERAI_API_KEY", "XAI_API_KEY"),
        *("OLLAMA_API_BASE", "NEO4J_PASSWORD", "XAIOS_KEY"),
    ):
        monkeypatch.setenv(name, f"the {name}")
    monkeypatch.setenv("OPENAI_API_BASE", "")
    passed = provider_variables(provider)
    assert set(passed) == names
    assert {name: value.get_secret_value() for name, value in passed.items()} == {name: f"the {name}" for name in names}


def test_teacher_and_embedder_have_those_of_their_own_providers(nothing_set, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "COHERE_API_KEY", "OPENAI_API_KEY", "NEO4J_PASSWORD"):
        monkeypatch.setenv(name, "a value")
    monkeypatch.chdir("/")

    def passed(embedder, **flags):
        return set(_secrets(load_settings(flags), embedder))

    teacher, embedder = "bedrock/anthropic.claude-3-haiku-20240307-v1:0", ServedEmbedder(Server("cohere/embed-english-v3.0"))
    address = "http://127.0.0.1:1/v1"
    assert passed(embedder, teacher=teacher) == {"AWS_ACCESS_KEY_ID", "COHERE_API_KEY"}
    assert passed(LexicalEmbedder(), teacher=teacher) == {"AWS_ACCESS_KEY_ID"}
    assert passed(embedder, teacher=teacher, embedder_base_url=address) == {"AWS_ACCESS_KEY_ID"}
    assert passed(embedder, teacher="some", teacher_base_url=address) == {"COHERE_API_KEY"}
    assert passed(LexicalEmbedder(), teacher="some", teacher_base_url=address) == set()
