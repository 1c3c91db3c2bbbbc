"""The vault: what it keeps, from whom, and what happens without its key."""

import pytest

from drag_graph.errors import StoreUnfit
from drag_graph.ports.private_details import Finding, Kept
from drag_graph.privacy.vault import Original, Vault, vault_level

FINDING = Finding("question", 4, 23, "PERSON", "told", "Person A")
KEPT = Kept("option:0", 0, 6, "PERSON", "told", "known to the public")
ORIGINAL = Original("Has Zorblax Quenneville a cold?", ("Newton", "no"), (FINDING,), (KEPT,), "q-4711", '{"note": "wexcombe"}')


@pytest.fixture
def path(tmp_path):
    return tmp_path / "graph.lbug.vault"


def test_what_is_kept_comes_back_whole_and_once(path):
    one, other = Vault(path), Vault(path)
    one.keep("id", "default", ORIGINAL, "strict")
    other.keep("id", "default", ORIGINAL, "strict")
    other.keep("id", "default", Original("Has Jane Roe a cold?", (), ()), "strict")
    assert one.originals("id") == [ORIGINAL, Original("Has Jane Roe a cold?", (), ())]
    assert one.originals("another") == []
    other.keep("second", "default", Original("Why?", (), (), (), "q-4712"), "strict")
    assert one.ids("default") == {"id", "second"}
    assert (one.ids("default", "q-4711"), one.ids("other", "q-4711"), one.ids("default", "q-47")) == ({"id"}, set(), set())
    other.erase(["second"])
    (number, _), (last, _) = one.after(0)
    assert [original.question for _, original in one.after(number)] == ["Has Jane Roe a cold?"]
    assert one.after(last) == []
    assert vault_level(path) == "strict"
    assert one.erase(["id", "another"]) == 2
    assert other.originals("id") == []
    one.close()
    one.close()
    other.close()


def test_a_number_is_never_used_again(path):
    vault = Vault(path)
    vault.keep("id", "default", ORIGINAL, "standard")
    ((number, _),) = vault.after(0)
    vault.erase(["id"])
    vault.keep("second", "default", ORIGINAL, "standard")
    assert [original for _, original in vault.after(number)] == [ORIGINAL]


def test_nothing_of_it_can_be_read_in_the_files(path):
    vault = Vault(path)
    vault.keep("id", "default", ORIGINAL, "standard")
    said = vault.mark("Zorblax Quenneville")
    stored = b"".join(file.read_bytes() for file in path.parent.iterdir())
    vault.close()
    assert not any(word in stored for word in (b"Quenneville", b"q-4711", b"wexcombe", b"PERSON", b"Newton"))
    assert (
        said
        == Vault(path).mark("Zorblax Quenneville")
        != Vault(path.with_name("other") / "x.vault").mark("Zorblax Quenneville")
    )
    assert {file.stat().st_mode & 0o777 for file in path.parent.glob("*.vault*")} == {0o600}


def test_a_vault_that_is_not_there_is_empty_and_stays_away(path):
    vault = Vault(path)
    assert (vault.originals("id"), vault.after(0)) == ([], [])
    assert not path.exists()
    assert vault_level(path) == "off"


def test_without_its_key_a_vault_is_of_no_use(path):
    vault = Vault(path)
    vault.keep("id", "default", ORIGINAL, "standard")
    vault.close()
    key = path.with_name("vault.key")
    kept = key.read_text()
    key.unlink()
    with pytest.raises(StoreUnfit, match="is missing"):
        Vault(path)
    assert not key.exists(), "a new key would hide that the old one is gone"
    key.write_text(kept[:-5] + "AAAA=")
    key.chmod(0o600)
    other = Vault(path)
    with pytest.raises(StoreUnfit, match="written with another key"):
        other.originals("id")
    key.chmod(0o640)
    with pytest.raises(StoreUnfit, match="Other users can read"):
        Vault(path)


def test_what_is_no_vault_is_said_in_words(path):
    path.write_bytes(b"something else, and long enough to be taken for a database" * 20)
    with pytest.raises(StoreUnfit, match="is damaged") as caught:
        Vault(path)
    assert "Restore" in caught.value.hint
