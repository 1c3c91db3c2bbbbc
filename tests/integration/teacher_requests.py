"""What the tests of the teacher ask it, and the replies that they script."""

from drag_graph.identity import query_id
from drag_graph.model import Query
from drag_graph.ports.model_roles import TeacherRequest
from drag_graph.ports.teacher_replies import EvidenceReply

SECRET = "the-secret-key-4711"
QUESTION = "Why do confidential plants need light?"
FACTS = [{"text": f"Fact number {i} about plants.", "framing": "causal"} for i in range(6)]
TRIPLE = {"subject": "plant", "predicate": "needs", "object": "light", "confidence": 0.9, "evidence": [0]}
TEXTS = tuple(fact["text"] for fact in FACTS[:3])


def request_for(schema=EvidenceReply, *, count=0, texts=(), question=QUESTION, namespace="default", **parameters):
    query = Query(id=query_id(namespace, question), namespace=namespace, text=question)
    lines = "\n".join(f"{i}. {text}" for i, text in enumerate(texts))
    return TeacherRequest(
        source=query,
        stage=schema.schema_name,
        schema=schema,
        messages=({"role": "system", "content": "You help."}, {"role": "user", "content": f"{question}\n{lines}"}),
        prompt_version="test-1",
        simpler=({"role": "user", "content": f"SIMPLER {question}"},),
        parameters=parameters,
        count=count,
        texts=tuple(texts),
    )


def evidence_request(count=6):
    return request_for(count=count)
