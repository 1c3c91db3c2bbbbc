"""`kill -9` of an upgrade between any two steps that make something durable: the next one goes on, and nothing is lost."""

import gzip
import json
import os
import signal
from pathlib import Path

import neo4j
import pytest
from harness import HERE, Fatal

from drag_graph import migrate
from drag_graph.adapters.ladybug_upgrading import UNCOMPRESSED
from drag_graph.queries import load_from

STORES = Path(__file__).parents[1] / "fixtures" / "stores"
VERSIONS = [item.version for item, _ in migrate.known("ladybug")]
LAST = VERSIONS[-1]


class Upgrade:
    """Upgrades of one store by the command line, in children that can be killed."""

    def __init__(self, nursery, folder, store, variables=()):
        self.nursery, self.folder, self.store, self.variables = nursery, folder, store, dict(variables)
        self._number = 0

    def run(self, *commands, fatal=None):
        """Run commands in one child; return how it ended, what each printed, and the boundaries of the store that it passed."""
        self._number += 1
        out, passed = self.folder / f"out-{self._number}", self.folder / f"boundaries-{self._number}"
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("DRAG_GRAPH_", "NEO4J_"))}
        ended = self.nursery.run(
            {
                "commands": [{"argv": [*argv, "--store", self.store], "out": f"{out}-{n}"} for n, argv in enumerate(commands)],
                "environment": {**environment, "DRAG_GRAPH_EMBEDDER": "lexical", **self.variables},
                "cwd": str(self.folder),
                "boundaries": str(passed),
                "fatal": fatal,
            }
        )
        said = [Path(f"{out}-{n}").read_bytes() for n in range(len(ended.codes))]
        names = passed.read_text(encoding="ascii").splitlines() if passed.exists() else []
        return ended, said, [name for name in names if name.startswith("store:")]

    def kill(self, fatal):
        """Kill an upgrade there, and have another one go on; return how many migrations were left for it."""
        ended, _, names = self.run(("db", "migrate", "--json"), fatal=fatal)
        assert ended.signal == signal.SIGKILL, (fatal, ended, names)
        ended, (said, checked), _ = self.run(("db", "migrate", "--json"), ("db", "verify", "--json"))
        assert ended == ([0, 0], 0), (fatal, ended, said)
        assert json.loads(checked) == {"problems": []}
        return len(json.loads(said)["applied"])


def check_lefts(lefts, most):
    """Hold that the later an upgrade is killed the less is left, from all to nothing."""
    assert lefts == sorted(lefts, reverse=True)
    assert (lefts[0], lefts[-1]) == (most, 0)


class Old:
    """An embedded store of version 1, anew for each kill."""

    def __init__(self, nursery, folder):
        self.nursery, self.folder = nursery, folder
        self._number = 0

    def upgrade(self):
        self._number += 1
        folder = self.folder / str(self._number)
        folder.mkdir()
        (folder / "old.lbug").write_bytes(gzip.decompress((STORES / "v1.lbug.gz").read_bytes()))
        return Upgrade(self.nursery, folder, "old.lbug")

    def boundaries(self):
        """Return the boundaries that an upgrade passes which is left alone."""
        ended, (said,), names = self.upgrade().run(("db", "migrate", "--json"))
        assert (ended, len(json.loads(said)["applied"])) == (([0], 0), len(VERSIONS) - 1)
        return names

    def kill(self, number):
        """Kill an upgrade at that boundary; return how many migrations were left after it."""
        upgrade = self.upgrade()
        left = upgrade.kill(Fatal(number, "store:"))
        ended, (exported,), _ = upgrade.run(("export", "--format", "jsonl"))
        assert ended == ([0], 0)
        assert exported == gzip.decompress((STORES / "v1.jsonl.gz").read_bytes())
        return left


def test_an_upgrade_of_an_embedded_store_that_is_killed_while_it_makes_tables_anew_is_finished(nursery, tmp_path, tally):
    """Each migration behind that one is a transaction; it is one for each COPY, and one that records it."""
    old = Old(nursery, tmp_path)
    names = old.boundaries()
    known = migrate.known("ladybug")
    (place,) = (n for n, (migration, _) in enumerate(known) if migration.name == UNCOMPRESSED)
    statements, behind = known[place][1], len(known) - 1 - place
    copies = [n for n, text in enumerate(statements) if text.startswith("COPY")]
    begun = [n for n, name in enumerate(names) if name == "store: begun"]
    last = begun[-1 - behind]
    first = begun[-1 - behind - len(copies)]
    committed = names.index("store: before a commit", last)
    assert names[last:committed].count("store: statement done") == len(statements) - copies[-1]
    assert names[first:last].count("store: statement done") == len(copies)
    # In the first copy, before the second, in the last transaction, and before its end.
    for point in (first + 1, begun[-behind - len(copies)], last + 1, committed):
        assert old.kill(point + 1) == 1 + behind
        tally.add("embedded", "an upgrade")


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_an_upgrade_of_an_embedded_store_can_be_killed_anywhere(nursery, tmp_path, tally):
    old = Old(nursery, tmp_path)
    lefts = []
    for number in range(1, len(old.boundaries()) + 1):
        lefts.append(old.kill(number))
        tally.add("embedded", "an upgrade")
    check_lefts(lefts, len(VERSIONS) - 1)


@pytest.mark.torture
@pytest.mark.neo4j
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("version", VERSIONS[1:])
def test_a_migration_of_neo4j_can_be_killed_anywhere(nursery, neo4j_lts, tmp_path, tally, version):
    """The schema stays as it is: what is killed finds that it is there, as one that goes on does."""
    uri, username, password = neo4j_lts
    login = {"NEO4J_USERNAME": username, "NEO4J_PASSWORD": password, "DRAG_GRAPH_NAMESPACE": "upgrades-killed"}
    upgrade = Upgrade(nursery, tmp_path, uri, login)
    with neo4j.GraphDatabase.driver(uri, auth=(username, password)) as driver:

        def forget():
            for newer in range(version, LAST + 1):
                driver.execute_query(*load_from(HERE, "forget_migration", "neo4j").bind(version=newer))

        ended, _, _ = upgrade.run(("db", "migrate"))
        assert ended == ([0], 0)
        forget()
        _, (said,), names = upgrade.run(("db", "migrate", "--json"))
        assert len(json.loads(said)["applied"]) == LAST - version + 1
        lefts = []
        for number in range(1, len(names) + 1):
            forget()
            lefts.append(upgrade.kill(Fatal(number, "store:")))
            tally.add("neo4j", "an upgrade")
        check_lefts(lefts, LAST - version + 1)
