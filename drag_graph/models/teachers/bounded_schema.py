"""Add bounds to the JSON schema of a reply, for models on this machine.

Without bounds, a small model writes until it reaches its token limit. Not all providers accept bounds.
"""

from drag_graph.ports.teacher_replies import Reply, Schema

_LONGEST = {"text": 240, "statement": 240, "subject": 80, "predicate": 60, "object": 80, "name": 80, "summary": 1000}
"""Maximum length of a string, by key."""
_MOST_POSITIONS = 3
"""Maximum number of evidence positions per triple."""
_SHORT = 12
"""Characters of other values: a number, a short list of numbers, a word from a list."""


def bounded_schema(reply: type[Reply], count: int) -> Schema:
    """Return the JSON schema with up to `count` entries and bounded strings."""
    name, schema = reply.schema_name, reply.json_schema
    entries = schema["properties"][name]
    entry = entries["items"]
    properties = {key: _bounded(key, value) for key, value in entry["properties"].items()}
    bounded = {**entries, "items": {**entry, "properties": properties}, "maxItems": count}
    return {**schema, "properties": {name: bounded}}


def longest(reply: type[Reply], count: int) -> int:
    """Return the maximum number of characters of a reply with `count` entries under the bounded schema."""
    keys = reply.json_schema["properties"][reply.schema_name]["items"]["properties"]
    marks = len('"": , ')
    entry = sum(len(key) + marks + _LONGEST.get(key, _SHORT) for key in keys)
    return len(reply.schema_name) + marks + count * (entry + marks)


def _bounded(key: str, schema: Schema) -> Schema:
    if schema["type"] == "array":
        return {**schema, "maxItems": _MOST_POSITIONS}
    return {**schema, "maxLength": _LONGEST[key]} if key in _LONGEST else schema
