"""How much a triple of each rule is worth, in [0, 1].

Each figure is (right + 1) / (judged + 2) of a sample of the rule's triples that a reader judged on
real sentences: `python bench/extraction.py --data FOLDER --judgements` prints them, and
docs/patterns.md says how the sample was drawn and what it cannot show. Samples are small (3 to 33
triples a rule), so that a figure is good to about 0.1 to 0.2.
"""

CONFIDENCE: dict[str, float] = {
    "apposition": 0.67,
    "complement": 0.69,
    "condition": 0.76,
    "copula": 0.88,
    "copula_of": 0.93,
    "copula_phrase": 0.71,
    "have": 0.77,
    "intransitive": 0.79,
    "leading_phrase": 0.71,
    "participle": 0.73,
    "passive": 0.88,
    "possessive": 0.78,
    "pronoun": 0.62,
    "purpose": 0.74,
    "relative": 0.83,
    "used_for": 0.86,
    "verb": 0.79,
    "verb_object_preposition": 0.65,
    "verb_preposition": 0.80,
    # By choice, not measured: the triple is nearly always true, but its predicate says nothing.
    "parenthesis": 0.5,
}


def confidence(rule: str) -> float:
    """Return the confidence of a rule's triples, in [0, 1].

    Raises:
        KeyError: there is no such rule.
    """
    return CONFIDENCE[rule]
