"""The whole graph for other programs: GraphML, CSV for `LOAD CSV`, and a Cypher script (docs/how-to/clients.md).

A value that a format does not support is written as JSON text and counted. Memory does not grow with the graph.
"""

import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from typing import Any, BinaryIO, Literal
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from drag_graph.graph.paging import pages
from drag_graph.manage.canonical_export import canonical_record, json_line, sorted_lines
from drag_graph.stores.shared.cypher_files import folder_beside_or_inside

GraphFormat = Literal["graphml", "csv", "cypher"]
ROWS = 200
"""Maximum number of nodes or relationships in a statement of a script."""
JSON_TEXT = "JSON text"

Record = dict[str, Any]
Columns = dict[str, dict[str, set[str]]]
"""The types of each property: by kind, `node` or `edge`, then by name."""
_TYPES = {bool: "boolean", int: "long", float: "double", str: "string"}
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_ESCAPED_BY_LOAD_CSV = re.compile(r'\\(?=["\\]|\Z)')
_TO_ESCAPE_IN_CYPHER = re.compile("\\\\(u?)|['\x00-\x1f\ud800-\udfff]")
_CHANGES: dict[GraphFormat, tuple[tuple[re.Pattern[str], str, str], ...]] = {
    "graphml": ((_NOT_IN_XML, "\ufffd", "text without control characters"),),
    "csv": (
        (_ESCAPED_BY_LOAD_CSV, r"\\\\", "text with doubled backslashes"),
        (_HALF_CHARACTER, "\ufffd", "text without lone surrogates"),
    ),
}


@dataclass
class GraphExport:
    """Counts of an export. `rewritten` counts values that the format does not support, by property and written form."""

    format: GraphFormat
    nodes: int = 0
    relationships: int = 0
    rewritten: Counter[tuple[str, str]] = field(default_factory=Counter)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as a document."""
        rewritten = [{"property": name, "as": how, "values": count} for (name, how), count in sorted(self.rewritten.items())]
        return {"format": self.format, "nodes": self.nodes, "relationships": self.relationships, "rewritten": rewritten}


class GraphFile:
    """All records of a store (`GraphStore.records`). They are read at once, and can be written once.

    `full` includes times, costs, vectors and snapshots. Raises as `canonical_lines` does.
    """

    def __init__(self, format_: GraphFormat, records: Iterable[Record], *, full: bool = False) -> None:
        self._report = GraphExport(format_)
        self._columns: Columns = {"node": {}, "edge": {}}
        lines = sorted_lines(self._line(canonical_record(record, full=full)) for record in records)
        self._lines = chain(list(islice(lines, 1)), lines)  # sorting reads all records before the first line

    def write(self, stream: BinaryIO) -> GraphExport:
        """Write the file and return its counts."""
        if self._report.format == "csv":
            self._write_tables(stream)
        else:
            lines = self._graphml() if self._report.format == "graphml" else self._script()
            stream.writelines(f"{line}\n".encode() for line in lines)
        return self._report

    def _line(self, record: Record) -> str:
        """Return a record as a line that sorts nodes first, by label; note its values."""
        kind, name = record["kind"], record.get("label") or record["type"]
        properties = {key: self._value(f"{name}.{key}", value) for key, value in record["properties"].items()}
        if kind == "node":
            properties = {"id": record["id"], **properties}
        line = json_line({**record, "name": name, "properties": properties})
        for key, value in properties.items():
            self._columns[kind].setdefault(key, set()).add(_TYPES.get(type(value), "list"))
        self._report.nodes += kind == "node"
        self._report.relationships += kind == "edge"
        return f"{int(kind == 'edge')}{name}\t{line}"

    def _value(self, name: str, value: Any) -> Any:
        """Return a value in a type that the format supports."""
        is_list = self._report.format == "cypher" and isinstance(value, list) and len({type(item) for item in value}) <= 1
        if isinstance(value, dict | list) and not (is_list and all(type(item) in _TYPES for item in value)):
            self._report.rewritten[name, JSON_TEXT] += 1
            value = json_line(value)
        for pattern, replacement, how in _CHANGES.get(self._report.format, ()) if isinstance(value, str) else ():
            value, changes = pattern.subn(replacement, value)
            if changes:
                self._report.rewritten[name, how] += 1
        return value

    def _records(self) -> Iterator[Record]:
        return (json.loads(line.partition("\t")[2]) for line in self._lines)

    def _graphml(self) -> Iterator[str]:
        yield '<?xml version="1.0" encoding="UTF-8"?>'
        yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        for kind, own in (("node", "_label"), ("edge", "_type")):
            types = {own: {"string"}, **self._columns[kind]}
            for name, value_types in sorted(types.items()):
                key = f'id={quoteattr(f"{kind}.{name}")} for="{kind}" attr.name={quoteattr(name)}'
                yield f'  <key {key} attr.type="{_type_of(value_types)}"/>'
        yield '  <graph edgedefault="directed">'
        for record in self._records():
            kind = record["kind"]
            ends = "" if kind == "node" else f" source={quoteattr(record['source'])} target={quoteattr(record['target'])}"
            values = {"_label" if kind == "node" else "_type": record["name"], **record["properties"]}
            data = (f"<data key={quoteattr(f'{kind}.{name}')}>{_xml(value)}</data>" for name, value in values.items())
            yield f"    <{kind} id={quoteattr(record['id'])}{ends}>{''.join(data)}</{kind}>"
        yield "  </graph>"
        yield "</graphml>"

    def _write_tables(self, stream: BinaryIO) -> None:
        groups = groupby(self._records(), key=lambda record: record["kind"])
        group = next(groups, None)
        own = {"node": ("_label",), "edge": ("_type", "_start", "_end")}
        # A ZIP archive is written to a seekable file first: standard output is not one.
        with tempfile.TemporaryFile() as file:
            with ZipFile(file, "w") as archive:
                for kind, name in (("node", "nodes.csv"), ("edge", "relationships.csv")):
                    part = ZipInfo(name)
                    part.compress_type = ZIP_DEFLATED
                    columns = (*own[kind], *sorted(self._columns[kind]))
                    with archive.open(part, "w", force_zip64=True) as table:
                        table.write(_row(columns))
                        if group is not None and group[0] == kind:
                            table.writelines(_row(map(_cells(record).get, columns)) for record in group[1])
                            group = next(groups, None)
            file.seek(0)
            shutil.copyfileobj(file, stream)

    def _script(self) -> Iterator[str]:
        text = (folder_beside_or_inside("cypher") / "script" / "graph_script.cypher").read_text(encoding="utf-8")
        _, before, nodes, edges, after = text.strip().split("\n\n")
        yield before
        for (kind, name), group in groupby(self._records(), key=lambda record: (record["kind"], record["name"])):
            statement = (nodes if kind == "node" else edges).replace("NAME", _quoted(name))
            for batch in pages(group, ROWS):
                rows = [
                    one["properties"] if kind == "node" else [one["source"], one["target"], one["properties"]] for one in batch
                ]
                yield statement.replace("ROWS", cypher_literal(rows))
        yield after


def cypher_literal(value: Any) -> str:
    r"""Return a JSON value as a literal of Cypher.

    Older parsers replace `\uXXXX` everywhere in a query, even after a backslash, so a `u` after a backslash is also escaped.
    """
    if isinstance(value, str):
        return f"'{_TO_ESCAPE_IN_CYPHER.sub(_escaped, value)}'"
    if isinstance(value, list):
        return f"[{', '.join(map(cypher_literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_quoted(name)}: {cypher_literal(item)}' for name, item in value.items())}}}"
    return json.dumps(value).replace("e+", "e")


def _escaped(match: re.Match[str]) -> str:
    if match[0].startswith("\\"):
        return r"\\" + (r"\u0075" if match[1] else "")
    return r"\'" if match[0] == "'" else f"\\u{ord(match[0]):04x}"


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _type_of(types: set[str]) -> str:
    """Return the type of GraphML for values of these types."""
    if types == {"long", "double"}:
        return "double"
    return next(iter(types)) if len(types) == 1 else "string"


def _xml(value: Any) -> str:
    return escape(value, {"\r": "&#13;"}) if isinstance(value, str) else json.dumps(value)


def _cells(record: Record) -> Mapping[str, Any]:
    own = {"_label": record["name"]}
    if record["kind"] == "edge":
        own = {"_type": record["name"], "_start": record["source"], "_end": record["target"]}
    return {**own, **record["properties"]}


def _row(values: Iterable[Any]) -> bytes:
    """Return a line of CSV. A text is always quoted, so that an empty one differs from a missing one."""
    return f"{','.join(map(_cell, values))}\n".encode()


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return "" if value is None else json.dumps(value)
