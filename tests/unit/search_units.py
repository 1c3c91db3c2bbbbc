"""Units, passages and facts as a search returns them, in few words."""

from drag_graph.ask.unit_values import Valued
from drag_graph.graph.search_terms import joined_terms
from drag_graph.ports.graph_search import Fact, Passage, Unit


def passage(id_, text="", cosine=0.0, position=0):
    text = text or f"text of {id_}"
    return Passage(id_, text, position, 0, len(text), joined_terms(text), (cosine,))


def unit(id_, *passages, source="", is_document=True, title="", date="", facts=()):
    """A chunk, or a query with its evidence; by default the only one of its source."""
    terms = joined_terms(" ".join([title, *(one.text for one in passages)]))
    place = (0, 0, None, ())
    text = " ".join(one.text for one in passages)
    return Unit(id_, source or f"source of {id_}", is_document, title, date, *place, text, terms, tuple(passages), tuple(facts))


def valued(id_, value, text="", *, of="", source="", date=""):
    """A passage with a value, alone in its unit unless that is named."""
    own = passage(id_, text)
    return Valued(own, unit(of or f"unit of {id_}", own, source=source, date=date), value)


def fact(unit_id, subject, object_, confidence=1.0, predicate="knows"):
    """A fact whose ids are made of its parts; a name is its own concept."""
    id_ = f"{unit_id}: {subject} {predicate} {object_}"
    ends = (subject, subject, subject, predicate, object_, object_, object_)
    return Fact(id_, unit_id, f"source of {unit_id}", f"evidence of {id_}", *ends, confidence, predicate)
