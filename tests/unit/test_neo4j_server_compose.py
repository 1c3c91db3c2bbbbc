"""docker-compose.yml says what the documentation promises: this machine only, a password asked for, data kept, no reports."""

from pathlib import Path

import pytest
import yaml


@pytest.fixture
def service():
    document = yaml.safe_load((Path(__file__).parents[2] / "docker-compose.yml").read_text(encoding="utf-8"))
    service = document["services"]["neo4j"]
    used = {volume.split(":")[0] for service in document["services"].values() for volume in service["volumes"]}
    assert used == set(document["volumes"])
    return service


def test_only_this_machine_reaches_it(service):
    assert service["ports"] == ["127.0.0.1:7687:7687", "127.0.0.1:7474:7474"]


def test_it_is_the_community_edition_of_the_long_term_release(service):
    assert service["image"] == "neo4j:5.26-community"


def test_the_password_comes_from_outside_and_is_required(service):
    # Without one, the value has no slash, which the image refuses.
    assert service["environment"]["NEO4J_AUTH"].startswith("${NEO4J_PASSWORD:+neo4j/}${NEO4J_PASSWORD:-set NEO4J_PASSWORD, ")
    # The image takes every other NEO4J_ variable for a setting, and an unknown setting stops its start.
    assert "NEO4J_PASSWORD" not in service["environment"]


def test_nothing_is_reported(service):
    assert service["environment"]["NEO4J_dbms_usage__report_enabled"] == "false"
    assert service["environment"]["NEO4J_client_allow__telemetry"] == "false"


def test_it_says_when_it_is_healthy_and_keeps_its_data(service):
    assert service["healthcheck"]["test"][0] == "CMD-SHELL"
    assert service["volumes"] == ["neo4j-data:/data"]
