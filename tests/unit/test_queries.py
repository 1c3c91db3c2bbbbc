import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drag_graph.errors import ConfigurationError
from drag_graph.stores.shared import cypher_files as queries
from drag_graph.stores.shared.cypher_files import DIALECTS, load, load_from

ENGINES_OWN = {
    # A server has other writers and linkers to wait for, indexes that fill in the background or hold vectors, and can be away.
    "neo4j": {
        "await_indexes",
        "count_concepts",
        "link_lease",
        "lock_site",
        "lock_sources",
        "nearest_communities",
        "nearest_concepts",
        "nearest_concepts_exact",
        "nearest_summaries",
        "nearest_summaries_exact",
        "ping",
        *("search_around", "search_exact", "search_sources", "search_subgraphs", "search_units"),
    },
    # Its Cypher cannot make edges between collected nodes. A file that keeps what was deleted is made anew. Its full-text
    # index is a file of its own, from which search reads units and facts.
    "ladybug": {
        "compact_load",
        "compact_nodes",
        "compact_relationships",
        *("index_chunks", "index_evidence", "index_heads", "index_nodes", "index_nodes_of_sources", "index_revise"),
        *("index_revision", "index_sources", "index_triples"),
        "mark_graphs",
        "read_summaries",
        "save_edges",
        "search_queries",
        *(f"search_parts_{part}" for part in ("calls", "chunks", "edges", "evidence", "triples")),
        "show_tables",
        "summary_vectors",
    },
}

HEADER = "// what: finds it\n// parameters: {}\n// returns: one row\n"


@pytest.fixture
def write(tmp_path):
    def write_(text, name="find", folder="common"):
        path = tmp_path / folder / f"{name}.cypher"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write_


def test_a_statement_is_loaded_without_its_header(write, tmp_path):
    path = write(HEADER.format("a, b") + "MATCH (n {x: $a})\nRETURN n.y + $b;\n")
    statement = load_from(tmp_path, "find", "neo4j")
    assert statement.text == "MATCH (n {x: $a})\nRETURN n.y + $b"
    assert (statement.name, statement.dialect, statement.path) == ("find", "neo4j", path)
    assert statement.parameters == {"a", "b"}


def test_the_dialects_own_file_wins(write, tmp_path):
    write(HEADER.format("none") + "RETURN 1")
    write(HEADER.format("none") + "RETURN 2", folder="ladybug")
    assert load_from(tmp_path, "find", "ladybug").text == "RETURN 2"
    assert load_from(tmp_path, "find", "neo4j").text == "RETURN 1"


def test_a_statement_of_a_topic_is_loaded_by_its_name_alone(write, tmp_path):
    write(HEADER.format("none") + "RETURN 1", folder="common/reading")
    path = write(HEADER.format("none") + "RETURN 2", folder="ladybug/reading/deeper")
    assert load_from(tmp_path, "find", "ladybug").path == path
    assert load_from(tmp_path, "find", "neo4j").text == "RETURN 1"
    assert list(queries.statement_files(tmp_path, "neo4j")) == ["find"]


def test_what_looks_like_a_parameter_in_a_comment_or_a_literal_is_none(write, tmp_path):
    body = "MATCH (n) // $no\nWHERE n.x = '$no \\' $no' AND n.`$no` = \"$no\" /* $no\n$no */ AND n.y = $yes RETURN n"
    write(HEADER.format("yes") + body)
    assert load_from(tmp_path, "find", "neo4j").parameters == {"yes"}


@pytest.mark.parametrize("name", ["missing", "../common/find", "Find", "", "find.cypher", "find\n"])
def test_a_name_that_is_none_is_refused(write, tmp_path, name):
    write(HEADER.format("none") + "RETURN 1")
    with pytest.raises(ConfigurationError):
        load_from(tmp_path, name, "neo4j")


def test_binding_wants_exactly_the_parameters_of_the_text(write, tmp_path):
    path = write(HEADER.format("a, b") + "RETURN $a + $b", name="bound_here")
    statement = load_from(tmp_path, "bound_here", "ladybug")
    for parameters in ({"a": 1}, {"a": 1, "b": 2, "c": 3}, {}, {"a": 1, "c": 2}):
        with pytest.raises(ConfigurationError) as raised:
            statement.bind(**parameters)
        assert str(path) in str(raised.value)
    assert ("ladybug", "bound_here") not in queries.executed
    assert statement.bind(a=1, b=None) == ("RETURN $a + $b", {"a": 1, "b": None})
    assert ("ladybug", "bound_here") in queries.executed
    queries.executed.discard(("ladybug", "bound_here"))


@settings(deadline=None)
@given(text=st.text(string.printable + "$`'\"/*\n", max_size=80))
def test_no_literal_hides_a_parameter_after_it(tmp_path_factory, text):
    """Whatever stands in a quoted literal, the parameter after it is found and none within it is."""
    literal = "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    root = tmp_path_factory.mktemp("cypher")
    (root / "common").mkdir()
    (root / "common" / "q.cypher").write_text(HEADER.format("real") + f"RETURN {literal} + $real", encoding="utf-8")
    assert load_from(root, "q", "neo4j").parameters == {"real"}


def test_all_statements_say_what_they_do_and_which_parameters_they_have():
    root = queries.folder_beside_or_inside("cypher")
    for dialect in DIALECTS:
        for name, path in queries.statement_files(root, dialect).items():
            statement = load(name, dialect)
            assert statement.text, path
            header = path.read_text(encoding="utf-8").split("\n" + statement.text[:20])[0].replace("\n// ", " ")
            what, parameters, returns = re.fullmatch(
                r"// what: *(.+?) parameters: *(.+?) returns: *(.+)", " ".join(header.split()), re.DOTALL
            ).groups()
            assert what
            assert returns
            declared = set(re.findall(r"\w+", re.sub(r"\([^()]*\)", " ", parameters))) - {"none"}
            assert declared == statement.parameters, path


def test_a_name_is_in_one_topic_of_a_dialect():
    root = queries.folder_beside_or_inside("cypher")
    for part in ("common", *DIALECTS):
        names = [path.stem for path in (root / part).rglob("*.cypher")]
        assert len(names) == len(set(names))


def test_statement_files_are_in_common_or_in_both_dialects():
    """A step that one engine does in one statement, the other in several, shares its name: `save_answers`, `save_answers_x`."""
    root = queries.folder_beside_or_inside("cypher")
    common, neo4j, ladybug = (
        {path.stem for path in (root / part).rglob("*.cypher")} for part in ("common", "neo4j", "ladybug")
    )
    assert (neo4j | ladybug) & common == set(), "what is in common serves both"
    assert {name for name in neo4j if not _shared(name, ladybug | common)} == ENGINES_OWN["neo4j"]
    assert {name for name in ladybug if not _shared(name, neo4j | common)} == ENGINES_OWN["ladybug"]


def _shared(name, others):
    return any(name == other or name.startswith(f"{other}_") or other.startswith(f"{name}_") for other in others)


def test_no_statement_is_written_twice():
    """A file in each dialect with the same text belongs into common."""
    root = queries.folder_beside_or_inside("cypher")
    neo4j, ladybug = ({path.stem for path in (root / dialect).rglob("*.cypher")} for dialect in DIALECTS)
    assert [name for name in sorted(neo4j & ladybug) if load(name, "neo4j").text == load(name, "ladybug").text] == []
