"""How much a triple of each rule is worth, in [0, 1]."""

CONFIDENCE: dict[str, float] = {}
PRIOR = 0.6


def confidence(rule: str) -> float:
    """Return the confidence of a rule's triples, in [0, 1]; PRIOR for a rule not in the table."""
    return CONFIDENCE.get(rule, PRIOR)
