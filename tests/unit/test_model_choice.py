"""Which model a setting names: roles, typing errors, models of other packages, and what LiteLLM is not needed for."""

import subprocess
import sys
from importlib.metadata import Distribution, DistributionFinder

import numpy as np
import pytest

from drag_graph import log
from drag_graph.app.resources import Resources
from drag_graph.ask.context_lines import candidate_lines
from drag_graph.compose.model_factories import make_teacher, privacy_level
from drag_graph.compose.session import estimate_basis
from drag_graph.concurrency.interruption import Interruption
from drag_graph.distill import evidence_step
from drag_graph.distill.cost_estimate import estimate
from drag_graph.distill.evidence_ranking import combine
from drag_graph.distill.plans import plan_settings
from drag_graph.documents.file_loaders import load
from drag_graph.errors import BudgetReached, ConfigurationError, ModelUnavailable, UnknownModel, Withheld
from drag_graph.graph.aggregate import aggregate
from drag_graph.inputs import InputLine, make_query
from drag_graph.ledger import Ledger
from drag_graph.ledger.budget import Budget
from drag_graph.ledger.journal import start_run
from drag_graph.model import Aggregation, Query
from drag_graph.models import model_catalogue
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.litellm_library import load_litellm
from drag_graph.models.model_choice import is_here, make_embedder, make_student
from drag_graph.models.openai_server import _is_reply, is_compatible
from drag_graph.ports import plugins
from drag_graph.ports.model_roles import TeacherRequest
from drag_graph.ports.teacher_replies import EvidenceReply
from drag_graph.settings import Settings, load_settings
from drag_graph.testing.builders import make_subgraph
from drag_graph.testing.server import ScriptedServer

CODE = """
from drag_graph.ports.model_roles import Teacher, TeacherReply
from drag_graph.testing.builders import make_subgraph

class Model(Teacher):
    name, fingerprint, dimension, highest_cost_usd = "acme", "acme@1", 2, 0.02
    def ask(self, request):
        (call, *_) = make_subgraph(1).calls
        paid = call.model_copy(update={"cost_usd": 0.02, "tokens_in": 3})
        return TeacherReply(request.schema.model_validate({"evidence": []}), paid)
    def __init__(self, *given):
        self.given = given
    def close(self):
        pass

def make(*given):
    return Model(*given)

def make_local(*given):
    return Model(*given)

make_local.is_local = True

def read(content):
    return content.decode().upper()

def cypher(edge):
    return f"({edge.subject})-[:{edge.predicates[0]}]->({edge.object})"

def best(near, judged):
    return [max(one, other or 0) for one, other in zip(near, judged)]
"""
ENTRY_POINTS = """
[drag_graph.teachers]
acme = acme_models:make
[drag_graph.students]
acme = acme_models:make_local
broken = acme_models:missing
[drag_graph.embedders]
acme = acme_models:make
[drag_graph.loaders]
acme = acme_models:read
[drag_graph.line_formats]
cypher = acme_models:cypher
[drag_graph.rankings]
best = acme_models:best
"""


class Acme(Distribution):
    """An installed package that adds models and a loader."""

    def read_text(self, filename):
        return {"METADATA": "Name: acme\nVersion: 1\n", "entry_points.txt": ENTRY_POINTS}.get(filename)

    def locate_file(self, path):
        return path


class Finder(DistributionFinder):
    """Finds the package."""

    def find_spec(self, *_args):
        return None

    def find_distributions(self, context=None):
        return [Acme()]


@pytest.fixture
def acme(tmp_path, monkeypatch):
    (tmp_path / "acme_models.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    plugins.find_plugin.cache_clear()
    yield
    plugins.find_plugin.cache_clear()
    sys.modules.pop("acme_models", None)


def test_another_package_adds_models(acme):
    chosen = Settings(student="acme:small", embedder="acme:e", teacher="acme:large", privacy="off")
    student, embedder = make_student(chosen, LexicalEmbedder()), make_embedder(chosen)
    assert (student.given[0], student.given[1]) == ("small", chosen)
    assert embedder.given[0] == "e"
    with pytest.raises(ConfigurationError, match="no privacy gate"):
        embedder.given[2]({"input": ["a text"]})
    assert [is_here(chosen.model_for(role)) for role in ("student", "embedder", "teacher")] == [True, False, False]
    assert privacy_level(Settings(embedder="acme:e")) == "standard", "it may send texts elsewhere"


def test_a_teacher_of_another_package_is_recorded_and_has_a_budget(acme):
    query = Query(id="1" * 32, text="Why?")
    run = start_run(kind="distill", namespace="n", store="s", source="", teacher="acme:large", plan="lean")
    with Ledger() as ledger:

        def teacher(**settings):
            return make_teacher(Settings(teacher="acme:large", **settings), run, Interruption(), ledger)

        def ask(question, **settings):
            messages = ({"role": "user", "content": question},)
            return teacher(**settings).ask(TeacherRequest(query, "evidence", EvidenceReply, messages, "v1"))

        assert [ask("Why?", budget_usd=0.05).cached for _ in range(2)] == [False, True]
        assert ask("How?", budget_usd=0.05).call.cost_usd == 0.02
        with pytest.raises(BudgetReached, match=r"\$0.04 of the budget"):
            ask("Who?", budget_usd=0.05)
        assert [row[1:] for row in ledger.tape.totals_by_day()] == [("acme@1", "evidence", 2, 6, 0.04)]
        sys.modules["acme_models"].Model.highest_cost_usd = None
        with pytest.raises(ConfigurationError, match="highest price"):
            teacher(budget_usd=0.05)


@pytest.mark.parametrize(("fault", "spent"), [(ModelUnavailable("gone"), 0.02), (Withheld("private"), 0.0)])
def test_a_failed_call_of_such_a_teacher_counts_in_full_unless_nothing_was_sent(acme, fault, spent):
    run = start_run(kind="distill", namespace="n", store="s", source="", teacher="acme:large", plan="lean")
    with Ledger() as ledger:
        teacher = make_teacher(Settings(teacher="acme:large", budget_usd=1), run, Interruption(), ledger)

        def fail(*_):
            raise fault

        sys.modules["acme_models"].Model.ask = fail
        with pytest.raises(type(fault)):
            teacher.ask(evidence_step.request(make_query("Why?"), number=3))
        assert Budget(1, ledger.account(run.job)).spent_usd == spent
        assert not ledger.tape.models


def test_a_dry_run_knows_what_a_teacher_of_another_package_replied(acme, tmp_path):
    settings = Settings(teacher="acme:large", embedder="lexical", store=str(tmp_path / "graph.lbug"), privacy="off")
    run = start_run(kind="distill", namespace="n", store="s", source="", teacher="acme:large", plan="lean")
    query = make_query("Why?")
    with Ledger(settings.ledger_path) as ledger:
        number = plan_settings(settings, query).number_of_evidence
        make_teacher(settings, run, Interruption(), ledger).ask(evidence_step.request(query, number=number))
    with estimate_basis(settings) as (basis, _caution):
        assert basis.fingerprint == "acme@1"
        assert estimate(settings, [InputLine(1, query)], None, basis)["recorded_calls"] == 1


def test_another_package_adds_a_line_format_and_a_ranking(acme):
    chosen = load_settings({"line_format": "cypher", "ranking": "best"})
    graph = make_subgraph()
    edges, _ = aggregate(graph, Aggregation())
    lines = candidate_lines([graph.model_copy(update={"edges": edges})], "graph", chosen.line_format)
    assert lines
    assert all(line.text.startswith("(") and ")-[:" in line.text for line in lines)
    assert combine([0.2, 0.4], [0.3, None], None, plan_settings(chosen, make_query("Why?"))) == [0.3, 0.4]
    with pytest.raises(ConfigurationError, match="must be weighted, rank-sum, or an entry point of"):
        load_settings({"ranking": "bset"})


def test_a_teacher_without_a_known_price_is_reported(caplog):
    caplog.set_level("INFO", logger=log.LOGGER.name)
    chosen = Settings(teacher="homemade", teacher_base_url="http://127.0.0.1:1/v1")
    with Ledger() as ledger:
        run = start_run(kind="distill", namespace="n", store="s", source="", teacher="homemade", plan="lean")
        make_teacher(chosen, run, Interruption(), ledger)
    assert caplog.text.count("has no known price") == 1


def test_a_package_that_cannot_be_loaded_is_named(acme):
    with pytest.raises(ConfigurationError, match="'broken' of the package acme"):
        make_student(Settings(student="broken:x"), LexicalEmbedder())


def test_another_package_adds_a_loader(acme, tmp_path):
    (tmp_path / "notes.acme").write_text("a text\n")
    assert load(tmp_path / "notes.acme").text.startswith("A TEXT")


@pytest.mark.parametrize(
    ("given", "asks", "near"),
    [
        ({"embedder": "minilmm"}, False, "minilm"),
        ({"teacher": "gpt-4o-mni"}, False, "gpt-4o-mini"),
        ({"student": "llama3.2"}, True, ""),
        ({"student": "olama/llama3.2"}, True, "ollama/llama3.2"),
        ({"student": "nearst"}, True, "nearest"),
        ({"student": "/no/such/folder"}, True, "gguf:/no/such/folder"),
    ],
)
@pytest.mark.parametrize("level", [{}, {"privacy": "strict"}])
def test_a_mistyped_name_is_an_error_about_the_name(given, asks, near, level):
    with pytest.raises(UnknownModel) as caught, Resources(Settings(**given, **level)).writing(asks=asks):
        pass
    assert next(iter(given.values())) in str(caught.value)
    assert near in caught.value.hint
    assert "privacy" not in str(caught.value) + caught.value.hint
    assert (f"Did you mean {near}" in caught.value.hint) or not near


def test_roles_share_the_servers_settings():
    chosen = Settings(
        teacher="t",
        teacher_base_url="http://t/v1",
        teacher_api_key="k",
        teacher_timeout=7,
        document_extractor="d",
        rewriter="r",
    )
    assert chosen.model_for("extractor") == chosen.model_for("teacher").__class__("extractor", "d", "http://t/v1", "k", 7)
    assert chosen.model_for("rewriter").timeout == 7
    assert chosen.model_for("summariser").name == "", "rules are no model"
    assert "'k'" not in repr(chosen.model_for("teacher")), "no secret is shown"


@pytest.mark.parametrize(
    ("model", "base_url", "expected"),
    [
        ("any", "http://x/v1", True),
        ("Qwen/Qwen2.5-3B-Instruct", "http://x/v1", True),
        ("hosted_vllm/any", "http://x/v1", True),
        ("ollama/llama3.2", "", True),
        ("lm_studio/any", "", True),
        ("gpt-4o-mini", "", False),
        ("o3-mini", "http://x/v1", False),
        ("anthropic/any", "http://x/v1", False),
        ("mistral/any", "", False),
    ],
)
def test_which_servers_need_no_litellm(model, base_url, expected):
    assert is_compatible(model, base_url) is expected


def test_a_local_server_is_asked_without_litellm(tmp_path):
    code = (
        "import sys\n"
        "from drag_graph import DragGraph\n"
        "graph = DragGraph(student='any', student_base_url=sys.argv[1], teacher='any', teacher_base_url=sys.argv[1],\n"
        "                  embedder='lexical', privacy='off')\n"
        "graph.distill(['What causes tides?'])\n"
        "print(graph.ask('What causes tides?').text)\n"
        "print('litellm' in sys.modules, 'openai' in sys.modules)"
    )
    with ScriptedServer() as server:
        done = subprocess.run(
            [sys.executable, "-c", code, server.url], cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert done.stdout.splitlines()[-1] == "False False", done.stderr


def test_tokens_and_prices_are_those_of_litellm():
    litellm = load_litellm()
    messages = [{"role": "system", "content": "You help. " * 300}, {"role": "user", "content": "Wörter <|endoftext|>"}]
    for model in ("gpt-4o", "gpt-4", "any", "openai/any", "azure/gpt-4o", "anthropic/claude-3-5-haiku-latest"):
        assert model_catalogue.count_tokens(model, messages) == litellm.token_counter(model=model, messages=messages)
        assert model_catalogue.count_text(model, "x" * 3000) == litellm.token_counter(model=model, text="x" * 3000)
    assert np.isclose(model_catalogue.price_of("openai/gpt-4o-mini", 10**6, 0), 0.15)


@pytest.mark.parametrize(
    ("document", "is_reply"),
    [
        ({"choices": [{"message": {"content": "Because."}}], "usage": {"prompt_tokens": 1}}, True),
        ({"choices": []}, True),
        ({"data": []}, True),
        ({"choices": ["x"]}, False),
        ({"choices": [{"message": "x"}]}, False),
        ({"choices": [{"message": {"content": ["x"]}}]}, False),
        ({"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": "a"}}, False),
        ({"error": {"message": "no"}}, False),
        ({}, False),
    ],
)
def test_a_reply_of_another_form_is_no_reply(document, is_reply):
    assert _is_reply(document) is is_reply
