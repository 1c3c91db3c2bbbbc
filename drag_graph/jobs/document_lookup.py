"""Find the stored documents of files: by their address, and renamed ones by the hash of their content."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path, PurePosixPath

from drag_graph.documents.document_files import SourceFile, lies_in
from drag_graph.graph.paging import iter_sources
from drag_graph.identity import document_id
from drag_graph.ports.graph_store import GraphStore, SourceFilter, StoredSource


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A file, the id of its document, and what is stored of it. `origin` is the document's `input_id`."""

    file: SourceFile
    id: str
    stored: StoredSource | None = None
    origin: str = ""

    @property
    def is_renamed(self) -> bool:
        """Whether the document is stored under another address."""
        return self.stored is not None and self.stored.uri != self.file.uri


class DocumentLookup:
    """Finds documents of one namespace. With `roots`, `files` must be all files below them: a document without one is renamed.

    Without a store, nothing is stored.
    """

    def __init__(
        self, store: GraphStore | None, namespace: str, files: Sequence[SourceFile] = (), roots: Sequence[Path] = ()
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._roots = roots
        self._uris = {file.uri for file in files} if roots else set[str]()
        self._renamed: dict[str, StoredSource] | None = None
        self._gone: dict[str, list[StoredSource]] = {}

    def find(self, files: Sequence[SourceFile]) -> list[FoundDocument]:
        """Return a document for each file. A document without a file is found once."""
        ids = {file.uri: document_id(self._namespace, file.uri) for file in files}
        stored = self._stored(list(ids.values()))
        return [self._find(file, ids[file.uri], stored.get(ids[file.uri])) for file in files]

    def _find(self, file: SourceFile, id_: str, stored: StoredSource | None) -> FoundDocument:
        if self._store is None or (stored is not None and stored.uri in ("", file.uri)):
            return FoundDocument(file, id_, stored)
        if self._renamed is None:
            self._renamed = self._read_renamed()
        other = self._renamed.get(file.uri) or self._take_gone(file)
        if other is not None:
            return FoundDocument(file, other.id, other, "" if other.id == id_ else other.input_id or other.uri)
        if stored is None:
            return FoundDocument(file, id_)
        # The document of this address is that of a renamed file.
        origins = (f"{file.uri}#{number}" for number in count(2))
        free = next(origin for origin in origins if not self._stored([document_id(self._namespace, origin)]))
        return FoundDocument(file, document_id(self._namespace, free), origin=free)

    def _take_gone(self, file: SourceFile) -> StoredSource | None:
        """Return a document of the same content whose file is gone, once; one of the same file name if there is one."""
        same = self._gone.get(sha256_of_file(file), []) if self._gone else []
        same.sort(key=lambda item: PurePosixPath(item.uri).name != PurePosixPath(file.uri).name)
        return same.pop(0) if same else None

    def _stored(self, ids: Sequence[str]) -> dict[str, StoredSource]:
        sources = self._store.sources(SourceFilter(ids=ids), limit=len(ids)) if self._store is not None and ids else []
        return {item.id: item for item in sources}

    def _read_renamed(self) -> dict[str, StoredSource]:
        """Read all sources once: return renamed documents by address, and remember those whose file is gone by hash."""
        assert self._store is not None
        renamed = dict[str, StoredSource]()
        for item in iter_sources(self._store):
            if item.input_id:
                renamed[item.uri] = item
            if item.sha256 and item.uri not in self._uris and lies_in(item.uri, self._roots):
                self._gone.setdefault(item.sha256, []).append(item)
        return renamed


def sha256_of_file(file: SourceFile) -> str:
    """Return the hash of a file's content; "" if it cannot be read, which `load_source` reports."""
    if file.text is not None:
        return hashlib.sha256(file.text.encode()).hexdigest()
    try:
        with file.path.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError:
        return ""
