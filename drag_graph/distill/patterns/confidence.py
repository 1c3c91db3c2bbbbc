"""The confidence of triples by rule, 0 to 1.

Each figure is (right + 1) / (judged + 2) of a sample of the rule's triples that a reader judged on
real sentences: `python bench/extraction.py --data FOLDER --judgements` prints them, and
docs/measurements/teachers.md says how the sample was drawn and what it cannot show. Samples are small (3 to 33
triples a rule), so that a figure is good to about 0.1 to 0.2.
"""

CONFIDENCE: dict[str, float] = {
    "apposition": 0.73,
    "complement": 0.69,
    "condition": 0.76,
    "copula": 0.88,
    "copula_of": 0.93,
    "copula_phrase": 0.77,
    "have": 0.77,
    "intransitive": 0.77,
    "leading_phrase": 0.69,
    "participle": 0.77,
    "passive": 0.85,
    "possessive": 0.86,
    "pronoun": 0.67,
    "purpose": 0.72,
    "relative": 0.86,
    "used_for": 0.83,
    "verb": 0.76,
    "verb_object_preposition": 0.59,
    "verb_preposition": 0.88,
    # By choice, not measured: the triple is nearly always true, but its predicate says nothing.
    "parenthesis": 0.5,
}


def confidence(rule: str) -> float:
    """Return the confidence of a rule's triples, in [0, 1].

    Raises:
        KeyError: there is no such rule.
    """
    return CONFIDENCE[rule]
