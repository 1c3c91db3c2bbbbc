"""`drag-graph keys`: a key is shown once, listed and revoked."""


def test_a_key_is_shown_once_then_listed_and_revoked(cli):
    assert "There are no keys" in cli("keys", "list").out
    added = cli("keys", "add", "nightly", "--role", "editor", "--namespace", "a", "--namespace", "b", "--budget-usd", "5")
    assert (added.code, added.out[:4]) == (0, "dgk_")
    assert "nightly" in added.err
    secret = added.out.strip()
    other = cli("keys", "add", "guest", "--expires", "90d", "--json").json
    assert (other["role"], other["namespaces"], other["key"][:4]) == ("reader", ["default"], "dgk_")
    listed = cli("keys", "list")
    assert "nightly" in listed.out
    assert secret not in listed.out
    assert [key["name"] for key in cli("keys", "list", "--json").json["keys"]] == ["guest", "nightly"]
    assert cli("keys", "revoke", "nightly").out == "Revoked nightly.\n"
    assert cli("keys", "revoke", "guest", "--json").json["state"] == "revoked"
    assert [key["state"] for key in cli("keys", "list", "--json").json["keys"]] == ["revoked", "revoked"]
    assert cli("keys", "revoke", "nobody").code == 3
    assert cli("keys", "add", "nightly").code == 2
