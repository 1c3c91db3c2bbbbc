"""The working folder of LightRAG (`lightrag-hku` 1.5, its default storages) as texts and triples.

Entities are the nodes of `graph_chunk_entity_relation.graphml`, relations its edges. An edge names the chunks that it was read
from, and a chunk its document. LightRAG stores no direction, so the end that the description names first is the subject.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from drag_graph.errors import InputError
from drag_graph.files import opened

GRAPH, CHUNKS, DOCUMENTS = "graph_chunk_entity_relation.graphml", "kv_store_text_chunks.json", "kv_store_full_docs.json"
SEPARATOR = "<SEP>"
"""Separates the descriptions, chunks and names that LightRAG has merged."""
UNNAMED = "unknown_source"
"""The file name of a text that was inserted without one."""
LONGEST_PREDICATE = 6
"""Maximum number of words between both ends that become the predicate. With more, the first keyword does."""
_SPACE = "{http://graphml.graphdrawing.org/xmlns}"
_HINT = "Pass the working folder of LightRAG, with its default storages."


@dataclass(frozen=True, slots=True)
class LightRagFolder:
    """The texts of a folder by name, and a triple for each relation and document.

    `left_out` counts what cannot be imported.
    """

    texts: dict[str, str]
    triples: list[dict[str, Any]] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)


def read_lightrag(folder: Path) -> LightRagFolder:
    """Read a working folder. Raises InputError, with the name of the file, if it is not one."""
    documents, chunks = _json(folder / DOCUMENTS), _json(folder / CHUNKS)
    names = _names(documents)
    contents = LightRagFolder({names[id_]: str(entry.get("content", "")) for id_, entry in documents.items()})
    document_of = {id_: names.get(str(entry.get("full_doc_id"))) for id_, entry in chunks.items()}
    nodes, edges = _graph(folder / GRAPH)
    connected, without_text = set[str](), 0
    for source, target, values in edges:
        connected |= {source, target}
        sources = values.get("source_id", "").split(SEPARATOR)
        documents_of_edge = list(dict.fromkeys(name for chunk in sources if (name := document_of.get(chunk))))
        without_text += not documents_of_edge
        contents.triples.extend({"document": name, **_triple(source, target, values)} for name in documents_of_edge)
    contents.left_out["types and descriptions of entities"] = len(nodes)
    contents.left_out["entities without a relation"] = len(nodes - connected)
    contents.left_out["relations whose text is gone"] = without_text
    return contents


def _triple(source: str, target: str, values: Mapping[str, str]) -> dict[str, Any]:
    """Return the triple of a relation. A weight below 1 is its confidence; LightRAG adds up the weights of repetitions."""
    for description in values.get("description", "").split(SEPARATOR):
        places = sorted((description.casefold().find(name.casefold()), name) for name in (source, target))
        (first, subject), (second, object_) = places
        if first < 0 or second < first + len(subject):
            continue
        between = re.sub(r"\W+(the|a|an)?\W*$", "", description[first + len(subject) : second], flags=re.IGNORECASE).strip()
        if 0 < len(between.split()) <= LONGEST_PREDICATE:
            return {"subject": subject, "predicate": between, "object": object_, "confidence": _confidence(values)}
        source, target = subject, object_  # too far apart for a predicate, but the order holds
    keyword = re.split(r"[,;]|<SEP>", values.get("keywords", ""))[0].strip()
    return {"subject": source, "predicate": keyword or "is related to", "object": target, "confidence": _confidence(values)}


def _confidence(values: Mapping[str, str]) -> float:
    try:
        return min(max(float(values.get("weight", 1.0)), 0.0), 1.0)
    except ValueError:
        return 1.0


def _names(documents: Mapping[str, Any]) -> dict[str, str]:
    """Return a name for each document, by id: the name of its file, unless another document has the same one."""
    paths = {id_: str(entry.get("file_path") or UNNAMED) for id_, entry in documents.items()}
    named = list(paths.values())
    return {id_: id_ if path == UNNAMED or named.count(path) > 1 else path for id_, path in paths.items()}


def _graph(path: Path) -> tuple[set[str], list[tuple[str, str, dict[str, str]]]]:
    """Return the entities, and the relations with their values by name."""
    nodes, edges, keys = set[str](), list[tuple[str, str, dict[str, str]]](), dict[str, str]()
    for element in _elements(path):
        if element.tag == f"{_SPACE}key":
            keys[element.get("id", "")] = element.get("attr.name", "")
        elif element.tag == f"{_SPACE}node":
            nodes.add(element.get("id", ""))
        elif element.tag == f"{_SPACE}edge":
            data = element.iterfind(f"{_SPACE}data")
            values = {keys.get(item.get("key", ""), ""): item.text for item in data if item.text}
            edges.append((element.get("source", ""), element.get("target", ""), values))
    return nodes, edges


def _elements(path: Path) -> Iterator[ET.Element]:
    try:
        with opened(path, _HINT) as file:
            for _, element in ET.iterparse(file):  # noqa: S314 - expat limits entities that grow
                yield element
                if element.tag in {f"{_SPACE}node", f"{_SPACE}edge"}:
                    element.clear()
    except ET.ParseError as error:
        raise InputError(f"{path} is not GraphML: {error}.", hint=_HINT) from error


def _json(path: Path) -> dict[str, Any]:
    """Return a file of entries by id."""
    try:
        with opened(path, _HINT) as file:
            entries = json.loads(file.read())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON.", hint=_HINT) from error
    if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
        raise InputError(f"{path} has no entries of LightRAG.", hint=_HINT)
    return entries
