"""A teacher without a model, and a distiller on it, for tests of the run."""

import threading

from drag_graph.concurrency.interruption import InterruptibleTeacher, Interruption
from drag_graph.distill.query_distillation import Distillation
from drag_graph.identity import content_id
from drag_graph.jobs.distill_job import Distiller
from drag_graph.ledger import Ledger
from drag_graph.ledger.journal import start_run
from drag_graph.model import TeacherCall
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.teachers.reply_reading import parse_reply
from drag_graph.ports.model_roles import TeacherReply
from drag_graph.settings import load_settings


class SayingTeacher:
    """Says the same useful things of every question; counts calls and fails where it is told to."""

    name = fingerprint = "saying"
    is_model = True

    def __init__(self, *, cached=False):
        self.calls, self.failing, self.lock, self.cached = [], {}, threading.Lock(), cached

    def ask(self, request):
        with self.lock:
            self.calls.append((request.query.text, request.stage))
        for word, error in self.failing.items():
            if word in request.query.text and request.stage == "evidence":
                raise error
        evidence = [f"{request.query.text} Fact {number} causes thing {number}." for number in range(5)]
        triple = {"subject": "thing", "predicate": "has", "object": "fact", "confidence": 0.9, "evidence": [0, 1]}
        document = {
            "evidence": {"evidence": evidence},
            "scores": {"scores": [{"index": number, "score": 9 - number} for number in range(5)]},
            "triples": {"triples": [triple, {**triple, "predicate": "names", "evidence": [0]}]},
            "relations": {"scores": [{"index": 1, "score": 9}, {"index": 0, "score": 8}]},
            "statements": {"statements": [{"pair": 0, "statement": "The thing has and names the fact."}]},
        }[request.stage]
        texts = "".join(message["content"] for message in request.messages)
        id_ = content_id("default", "call", request.query.id, request.stage, texts)
        facts = {"source_id": request.query.id, "stage": request.stage, "model": self.name, "prompt_version": "1"}
        call = TeacherCall(id=id_, **facts, request_sha256="a", response_sha256="b", tokens_in=10, tokens_out=5, cost_usd=0.01)
        return TeacherReply(parse_reply(request.schema, document), call, cached=self.cached)

    def close(self):
        """Nothing to release."""


def distiller(store, teacher, journal=None, retry=False, **flags):
    settings = load_settings(flags)
    run = start_run(kind="distill", namespace="default", store="memory", source="test", teacher="saying", plan="lean")
    interruption = Interruption()
    distills = Distillation(settings, LexicalEmbedder(), InterruptibleTeacher(teacher, interruption))
    flags = {"workers": settings.workers, "retry_quarantined": retry, "interruption": interruption}
    return Distiller(store, distills, journal or Ledger().journal, run, **flags)
