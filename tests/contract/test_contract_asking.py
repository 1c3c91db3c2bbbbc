"""Questions are asked through the search of both stores."""

import logging

import pytest
from searching import AGGREGATION, BLOOD, LinkedStores, OnLadybug, OnNeo4j, link_entities

from drag_graph.ask.asker import Asker
from drag_graph.inputs import make_query
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.model_choice import make_student
from drag_graph.settings import Settings
from drag_graph.testing.builders import make_subgraph
from drag_graph.testing.finding import audit_document, read_answer


class AskingContract(LinkedStores):
    """The tests; a subclass gives `open_store`."""

    @pytest.fixture
    def store(self, open_store, namespace):
        with open_store(namespace) as store:
            yield store

    @pytest.fixture
    def asker(self, store):
        """Ask a linked store of three subgraphs that nobody distilled the questions for."""
        embedder = LexicalEmbedder()
        settings = Settings(namespace=store.namespace, embedder="lexical")
        store.embedder((embedder.name, embedder.dimension))
        told = {
            "heart": ["The heart pumps blood through the body.", "Blood carries oxygen to the cells."],
            "iron": ["Blood contains iron in its red cells.", "Iron binds oxygen in the red cells."],
            "lung": ["The lungs take up oxygen from the air.", "The lungs lie in the chest."],
        }
        graphs = [
            make_subgraph(
                name,
                namespace=store.namespace,
                triples=triples,
                evidence=told[name],
                dropped=(),
                embedding=embedder.embed([f"Which part has the {name} in the body?"])[0].tolist(),
            )
            for name, triples in BLOOD
            if name in told
        ]
        store.save(graphs, AGGREGATION)
        evidence = [item for graph in graphs for item in graph.evidence]
        vectors = embedder.embed([item.text for item in evidence])
        link_entities(store, graphs, evidence={item.id: v.tolist() for item, v in zip(evidence, vectors, strict=True)})
        return Asker(settings, store, embedder, make_student(settings, embedder))

    def test_a_new_question_is_answered_from_all_subgraphs(self, store, asker):
        asked = asker.ask(
            make_query(
                "How do blood and iron carry oxygen to the red cells?",
                ["by magnets", "iron binds oxygen"],
                namespace=store.namespace,
            )
        )
        assert asked.how == "search"
        assert len(asked.answer.source_ids) > 1
        assert asked.answer.label == "B"
        lines = asked.to_dict(explain=True)["lines"]
        assert {"vector", "words"} <= {way["list"] for line in lines for way in line["lists"]}
        for line in lines:
            assert line["score"] > 0.0
        audit = audit_document(store, asked.answer.id)
        assert all(line["live"] for line in audit["lines"])
        assert {line["source_id"] for line in audit["lines"]} == set(asked.answer.source_ids)
        assert {call["id"] for call in audit["calls"]} == {
            call.id for graph in store.read(list(asked.answer.source_ids)) for call in graph.calls
        }

    def test_erasing_one_of_its_queries_erases_the_answer(self, store, asker):
        asked = asker.ask(make_query("How do blood and iron carry oxygen to the red cells?", namespace=store.namespace))
        gone = asked.answer.source_ids[-1]
        store.erase([gone])
        assert read_answer(store, asked.answer.id) is None
        again = asker.ask(make_query("How do blood and iron carry oxygen to the red cells?", namespace=store.namespace))
        assert gone not in again.answer.source_ids
        assert again.answer.lines

    def test_a_stranger_finds_nothing_though_it_names_a_concept(self, store, asker):
        for question in ("Who painted the picture that hangs above the iron gate of Vienna?", "What is the capital of Peru?"):
            asked = asker.ask(make_query(question, namespace=store.namespace))
            assert asked.how == "nothing"
            assert asked.answer.lines == ()


class TestLadybugAsking(OnLadybug, AskingContract):
    def test_saving_an_answer_does_not_read_the_vectors_again(self, store, asker):
        asker.ask(make_query("How do blood and iron carry oxygen to the red cells?", namespace=store.namespace))
        version = store.ready().version
        asker.ask(make_query("What do the lungs take up from the air?", namespace=store.namespace))
        assert store.ready().version == version


@pytest.mark.neo4j
class TestNeo4jAsking(OnNeo4j, AskingContract):
    def test_a_new_question_takes_at_most_six_statements(self, store, asker, caplog):
        """The rejected claims, four steps of searching, and the answer is saved."""
        # opens the connection and looks at the schema
        asker.ask(make_query("What do the lungs take up from the air?", namespace=store.namespace))
        with caplog.at_level(logging.DEBUG, "neo4j.io"):
            asked = asker.ask(make_query("How do blood and iron carry oxygen to the red cells?", namespace=store.namespace))
        assert asked.how == "search"
        sent = [record.getMessage() for record in caplog.records if " C: RUN " in record.getMessage()]
        # Where a server has many vectors of others, an index is not enough, and a look at our own comes on top.
        sent = [text for text in sent if "$kinds" not in text and "AS sources" not in text]
        assert len(sent) <= 6
