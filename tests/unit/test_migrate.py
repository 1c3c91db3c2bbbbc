from dataclasses import replace

import pytest

from drag_graph.errors import ConfigurationError, StoreUnfit
from drag_graph.stores.shared import migrations as migrate
from drag_graph.stores.shared.cypher_files import DIALECTS


@pytest.fixture
def folder(tmp_path):
    def make(**files):
        for name, text in files.items():
            path = tmp_path / "neo4j" / f"{name}.cypher"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text.encode())
        return tmp_path

    return make


def steps(count):
    return [(migrate.Migration(n, f"step_{n}", migrate.checksum(f"text {n}")), (f"text {n}",)) for n in range(1, count + 1)]


def applied(count):
    return [replace(migration, applied_at=f"2026-01-0{migration.version}") for migration, _ in steps(count)]


def test_a_file_is_split_at_semicolons_at_line_ends(folder):
    root = folder(V0001__start="// a; comment;\nCREATE A\n  (x: ';');\n\nCREATE B;  \n// end;\nCREATE C\n")
    ((migration, statements),) = migrate.known("neo4j", root)
    assert (migration.version, migration.name, migration.applied_at) == (1, "start", "")
    assert statements == ("CREATE A\n  (x: ';')", "CREATE B", "CREATE C")


def test_the_checksum_is_of_the_text_not_of_its_line_ends(folder):
    plain = migrate.checksum("A;\nB;\n")
    assert len(plain) == 64
    for same in ("A;\r\nB;\r\n", "\ufeffA;  \nB;", "A;\rB;\t\n\n"):
        assert migrate.checksum(same) == plain
    for other in ("A;\nb;\n", "A;\n\nB;", "A; B;"):
        assert migrate.checksum(other) != plain
    root = folder(V0001__start="\ufeffA;\r\nB;\r\n")
    ((migration, statements),) = migrate.known("neo4j", root)
    assert (migration.checksum, statements) == (plain, ("A", "B"))


def test_a_folder_without_migrations_is_refused(folder):
    with pytest.raises(ConfigurationError, match="no migrations"):
        migrate.known("neo4j", folder())


@pytest.mark.parametrize("done", [0, 1, 2, 3])
def test_what_is_pending_is_what_was_not_applied(done):
    assert migrate.plan(steps(3), applied(done)[::-1]) == steps(3)[done:]


def test_a_newer_store_is_refused_with_both_versions():
    with pytest.raises(StoreUnfit, match=r"schema version 4, .*only up to 3"):
        migrate.plan(steps(3), applied(4))


def test_a_file_that_was_changed_after_it_was_applied_is_named():
    history = applied(2)
    history[1] = replace(history[1], checksum="0" * 64)
    with pytest.raises(StoreUnfit, match=r"V0002__step_2.cypher"):
        migrate.plan(steps(3), history)


def test_a_file_that_was_renamed_after_it_was_applied_is_named():
    history = [replace(applied(1)[0], name="begin")]
    with pytest.raises(StoreUnfit, match=r"V0001__step_1.cypher differs from .* V0001__begin.cypher"):
        migrate.plan(steps(3), history)


def test_a_history_with_a_gap_is_refused():
    with pytest.raises(StoreUnfit, match="lacks version 2"):
        migrate.plan(steps(3), [applied(3)[0], applied(3)[2]])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_runner_applies_what_is_pending_once_and_in_order(dialect):
    history, ran = [], []

    def apply(migration, statements):
        ran.extend(statements)
        history.append(migration)

    def read():
        return list(history)

    assert not any(migration.applied_at for migration in migrate.status(dialect, read))
    done = migrate.run(dialect, read, apply)
    assert ran == [statement for _, statements in migrate.known(dialect) for statement in statements]
    assert all(migration.applied_at for migration in done)
    assert done == history == migrate.status(dialect, read)
    assert migrate.run(dialect, read, apply) == []


def test_a_migration_that_fails_is_not_counted_and_the_next_is_not_tried():
    tried = []

    def apply(migration, statements):
        tried.append(migration.version)
        raise StoreUnfit("the disk is full")

    with pytest.raises(StoreUnfit, match="disk"):
        migrate.run("neo4j", list, apply)
    assert tried == [1]


def test_both_dialects_have_the_same_versions_without_a_gap():
    numbered = [[(item.version, item.name) for item, _ in migrate.known(dialect)] for dialect in DIALECTS]
    assert numbered[0] == numbered[1]
    assert [version for version, _ in numbered[0]] == list(range(1, len(numbered[0]) + 1))
    assert all(statements for dialect in DIALECTS for _, statements in migrate.known(dialect))
