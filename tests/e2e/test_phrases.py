"""spaCy's parser beside the rules: `ingest --extractor spacy`."""

import pytest

from drag_graph.distill.spacy_extractor import PhraseReader
from drag_graph.errors import MissingExtra
from drag_graph.models import spacy_model as english

TEXT = """Researchers from Norway, led by Marta Olsen, on Friday published in Nature a study of glaciers."""


def test_without_a_model_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(english, "MODELS", ("no_such_model",))
    with pytest.raises(MissingExtra, match="No English model of spaCy") as error:
        PhraseReader(*english.load_english_model())
    assert "`document_extractor=patterns`" in error.value.hint


@pytest.fixture
def parser():
    if english.english_model() is None:
        pytest.skip("no English model of spaCy is installed")
    return PhraseReader(*english.load_english_model())


def test_the_parser_names_what_kind_of_thing_a_name_is(parser):
    found = parser.extract("Marta Olsen does not know Paris, and she likes it.")
    assert [(item.subject, item.predicate, item.object) for item in found] == [("Marta Olsen", "does not know", "Paris")]
    assert (found[0].subject_type, found[0].object_type) == ("person", "location")


def test_its_triples_stand_beside_those_of_the_rules(cli, tmp_path, parser):
    del parser
    (tmp_path / "study.txt").write_text(TEXT, encoding="utf-8")
    command = ["ingest", str(tmp_path / "study.txt"), "--store", str(tmp_path / "graph.lbug"), "--json"]
    by_rules, beside = cli(*command).json["totals"], cli(*command, "--extractor", "spacy").json["totals"]
    assert beside["changed"] == 1, "another extractor is other settings"
    assert beside["triples"] > by_rules["triples"]
