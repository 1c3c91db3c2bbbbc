"""The retrievers and converters for other libraries, each inside a pipeline of its library.

The libraries are imported in the tests: collecting the tests must not take the seconds that they need to load.
"""

import asyncio
import importlib
import sys
import uuid
from dataclasses import dataclass, field
from types import SimpleNamespace

import neo4j
import pytest

from drag_graph import DragGraph
from drag_graph.errors import ConfigurationError, MissingExtra

BUDGET = """# Orchid project

## Budget

The Norrland Foundation pays the budget of the Orchid project. The Orchid project was started by Mara Lindqvist.
"""
HARBOUR = "The harbour of Visby is run by Anna Berg. Steam drives the crane of the harbour."
QUESTION = "Who pays the budget of the Orchid project?"


def fill(graph, folder):
    folder.mkdir()
    (folder / "budget.md").write_text(BUDGET)
    (folder / "harbour.txt").write_text(HARBOUR)
    graph.ingest(folder)


@pytest.fixture
def graph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with DragGraph("graph.lbug", embedder="lexical", privacy="off") as graph:
        fill(graph, tmp_path / "library")
        yield graph


def check_metadata(metadata, graph):
    assert metadata["source"] == "budget.md"
    assert metadata["kind"] == "span"
    assert metadata["heading"] == "Orchid project > Budget"
    assert BUDGET[metadata["start"] : metadata["end"]].startswith("The Norrland Foundation pays")
    assert "page" not in metadata
    stored = graph.show(metadata["source_id"]).subgraph
    assert set(metadata["evidence_ids"]) <= {item.id for item in stored.evidence}
    assert metadata["ref"] in metadata["evidence_ids"]
    assert metadata["score"] > 0


def test_a_langchain_chain_answers_from_what_the_retriever_finds(graph):
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.runnables import RunnableLambda, RunnablePassthrough

    from drag_graph.integrations.langchain import LangChainRetriever

    prompts = []

    def show(prompt):
        prompts.append(prompt.to_string())
        return prompt

    retriever = LangChainRetriever(graph=graph, limit=2)
    chain = (
        {
            "context": retriever | (lambda found: "\n".join(item.page_content for item in found)),
            "question": RunnablePassthrough(),
        }
        | ChatPromptTemplate.from_template("{context}\n\n{question}")
        | RunnableLambda(show)
        | FakeListChatModel(responses=["The foundation."])
        | StrOutputParser()
    )
    assert chain.invoke(QUESTION) == "The foundation."
    assert "The Norrland Foundation pays the budget" in prompts[0]
    found = retriever.invoke(QUESTION)
    assert len(found) == 2
    check_metadata(found[0].metadata, graph)
    assert [item.metadata["score"] for item in found] == sorted((item.metadata["score"] for item in found), reverse=True)
    assert asyncio.run(retriever.ainvoke(QUESTION)) == found


def test_search_arguments_restrict_a_retriever(graph):
    from drag_graph.integrations.langchain import LangChainRetriever

    only = LangChainRetriever(graph=graph, search={"sources": ["harbour.txt"]})
    assert {item.metadata["source"] for item in only.invoke("What drives the crane?")} == {"harbour.txt"}


def test_a_llama_index_query_engine_answers_from_what_the_retriever_finds(graph):
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.response_synthesizers import get_response_synthesizer

    from drag_graph.integrations.llama_index import LlamaIndexRetriever

    retriever = LlamaIndexRetriever(graph, limit=3)
    engine = RetrieverQueryEngine(retriever, get_response_synthesizer(llm=MockLLM()))
    answer = engine.query(QUESTION)
    assert "The Norrland Foundation pays the budget" in str(answer)  # the mock repeats its prompt
    assert "budget.md" in str(answer)
    check_metadata(answer.source_nodes[0].node.metadata, graph)
    assert answer.source_nodes[0].score == answer.source_nodes[0].node.metadata["score"]
    nodes = asyncio.run(retriever.aretrieve(QUESTION))
    assert [item.node.node_id for item in nodes] == [item.node.node_id for item in answer.source_nodes]


def repeating_model():
    """Return a model that answers with its prompt."""
    from neo4j_graphrag.llm import LLMInterfaceV2, LLMResponse

    class RepeatingModel(LLMInterfaceV2):
        def __init__(self):
            super().__init__(model_name="repeating")

        def invoke(self, input, **_given):  # noqa: A002
            return LLMResponse(content=input[-1]["content"])

        async def ainvoke(self, input, **given):  # noqa: A002
            return self.invoke(input, **given)

    return RepeatingModel()


def test_graphrag_of_neo4j_answers_from_a_store_in_neo4j(neo4j_lts, monkeypatch, tmp_path):
    from neo4j_graphrag.generation import GraphRAG

    from drag_graph.integrations.neo4j_graphrag import Neo4jGraphRagRetriever

    uri, user, password = neo4j_lts
    monkeypatch.setenv("NEO4J_USERNAME", user)
    monkeypatch.setenv("NEO4J_PASSWORD", password)
    settings = {"embedder": "lexical", "privacy": "off", "namespace": f"graphrag-{uuid.uuid4().hex[:8]}"}
    with DragGraph(uri, **settings) as graph, neo4j.GraphDatabase.driver(uri, auth=(user, password)) as driver:
        fill(graph, tmp_path / "library")
        rag = GraphRAG(Neo4jGraphRagRetriever(driver, graph), repeating_model())
        result = rag.search(QUESTION, retriever_config={"top_k": 2}, return_context=True)
        assert "The Norrland Foundation pays the budget" in result.answer
        items = result.retriever_result.items
        assert len(items) == 2
        check_metadata(items[0].metadata, graph)
        ids = [items[0].metadata["source_id"], *items[0].metadata["evidence_ids"]]
        found = driver.execute_query("MATCH (n) WHERE n.id IN $ids RETURN n.id AS id", ids=ids).records
        assert {record["id"] for record in found} == set(ids)


def test_graphrag_of_neo4j_wants_a_store_in_neo4j(graph):
    from drag_graph.integrations.neo4j_graphrag import Neo4jGraphRagRetriever

    with pytest.raises(ConfigurationError, match=r"graph\.lbug is not a Neo4j store"):
        Neo4jGraphRagRetriever(None, graph)


@dataclass
class Node:
    """As in langchain-community."""

    id: str
    type: str = "Node"
    properties: dict = field(default_factory=dict)


def relationship(subject, kind, object_, **properties):
    return SimpleNamespace(source=Node(subject), target=Node(object_), type=kind, properties=properties)


def graph_document(text, *relationships, **source):
    from langchain_core.documents import Document

    return SimpleNamespace(nodes=[], relationships=relationships, source=Document(page_content=text, **source))


def stored(graph, name):
    (found,) = [subgraph for subgraph in graph.show() if subgraph.title == name]
    return graph.show(found.source_id).subgraph


def test_graph_documents_are_stored_with_their_passages(graph):
    from drag_graph.integrations.langchain import from_graph_documents

    works = relationship("Anna Berg", "WORKS_FOR", "Gotland Ferries", confidence=0.9)
    invented = relationship("Anna Berg", "MARRIED_TO", "Karl Sand")
    text = "Anna Berg works for Gotland Ferries. She lives in Visby."
    report = from_graph_documents(graph, [graph_document(text, works, invented, metadata={"source": "people.txt"})])
    assert (report.exit_code, report.totals()["triples"], report.totals()["ungrounded"]) == (0, 2, 1)
    subgraph = stored(graph, "people.txt")
    by_object = {item.object: item for item in subgraph.triples}
    triple = by_object["Gotland Ferries"]
    assert (triple.subject, triple.predicate, triple.confidence) == ("Anna Berg", "works for", 0.9)
    (evidence,) = (item for item in subgraph.evidence if item.id == triple.evidence_id)
    assert evidence.text.startswith("Anna Berg works for Gotland Ferries.")
    assert {call.model for call in subgraph.calls} == {"file:graph documents"}
    assert by_object["Karl Sand"].confidence == 0.3
    assert "Karl Sand" not in {edge.object for edge in subgraph.edges}


def test_a_subgraph_goes_to_graph_documents_and_back(graph):
    from drag_graph.integrations.langchain import from_graph_documents, to_graph_document

    first = stored(graph, "harbour.txt")
    document = to_graph_document(first)
    assert {(node.id, node.properties["entity_id"]) for node in document.nodes} == {(it.name, it.id) for it in first.entities}
    assert len(document.relationships) == len(first.triples) > 0
    assert all(item.source in document.nodes and item.target in document.nodes for item in document.relationships)
    assert document.source.metadata == {"source": "harbour.txt", "source_id": first.source_id}
    other = graph.in_namespace("other")
    from_graph_documents(other, [document])
    second = stored(other, "harbour.txt")

    def triples(subgraph):
        texts = {item.id: item.text for item in subgraph.evidence}
        return {(it.subject, it.predicate, it.object, it.confidence, texts[it.evidence_id]) for it in subgraph.triples}

    assert triples(second) == triples(first)


def test_a_graph_document_needs_a_text_and_a_name_of_its_own(graph):
    from drag_graph.integrations.langchain import from_graph_documents

    before = len(graph.show())
    good = graph_document("Anna works.", metadata={"source": "a"})
    for bad in (graph_document("", metadata={"source": "b"}), graph_document("Text."), good):
        with pytest.raises(ConfigurationError, match="Graph document 2 has no text, or no unique name"):
            from_graph_documents(graph, [good, bad])
    assert len(graph.show()) == before


@pytest.mark.parametrize(
    ("module", "package"),
    [("langchain", "langchain_core"), ("llama_index", "llama_index.core"), ("neo4j_graphrag", "neo4j_graphrag")],
)
def test_a_missing_library_names_the_extra(module, package, monkeypatch):
    importlib.import_module(f"drag_graph.integrations.{module}")
    for name in [name for name in sys.modules if name.partition(".")[0] == package.partition(".")[0]]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, f"drag_graph.integrations.{module}")
    with pytest.raises(MissingExtra, match=package.replace("_", "-").replace(".", "-")) as caught:
        importlib.import_module(f"drag_graph.integrations.{module}")
    assert "drag-graph[integrations]" in caught.value.hint
