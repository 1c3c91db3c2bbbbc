"""Estimate the complexity of a question without a model.

Together with the domain, the score decides how much evidence and how many edges are used (`drag_graph.distill.plans.choose_k`).
It is a weighted mean of five signals, each between 0 and 1:

| signal | weight | 0 | 1 |
|---|---|---|---|
| length | 0.30 | 5 words or fewer | 60 words or more (on a logarithmic scale) |
| clauses | 0.25 | one plain clause | five or more commas, subordinators and relatives |
| hops | 0.20 | no connector of reasons or comparison | three or more |
| entities | 0.15 | no capitalised name inside a sentence | four or more |
| quantities | 0.10 | no number | three or more numbers or units |

Options that are whole sentences make a question more complex: their mean length counts as up to two clauses.
"""

import math
import re
from collections.abc import Sequence

READ_CHARACTERS = 20_000
"""Number of characters that are read; anything after them cannot raise the score further."""

WEIGHTS = {"length": 0.30, "clauses": 0.25, "hops": 0.20, "entities": 0.15, "quantities": 0.10}

_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_CLAUSE = re.compile(
    r"[,;:]|\b(?:that|which|who|whom|whose|where|when|while|although|though|whereas|whenever|unless|until|before|after|if"
    r"|during|despite|without)\b",
    re.IGNORECASE,
)
_HOP = re.compile(
    r"\b(?:because|therefore|thus|hence|consequently|given that|given|assuming|suppose|as a result|in order to|so that|due to"
    r"|compared (?:to|with|of)|comparing|relative to|rather than|instead of|both|respectively|between|except|not|least"
    r"|most likely|best explains?|lead(?:s|ing)? to|result(?:s|ing|ed)? in|followed by|and then|implies|explain|why|how)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-Z][\w'\u2019-]*(?:\s+[A-Z][\w'\u2019-]*)*")
_QUANTITY = re.compile(r"(?<![\w.])[-+]?\d[\d.,]*(?:\s?(?:%|\u00b0[CF]?|[a-zA-Z\u00b5\u03a9]{1,3}(?:/[a-zA-Z]{1,3})?\b))?")


def complexity(text: str, options: Sequence[str] = ()) -> float:
    """Return the complexity of a question, 0 to 1, rounded to four digits. The result is deterministic."""
    signal = signals(text, options)
    return round(sum(WEIGHTS[name] * value for name, value in signal.items()), 4)


def signals(text: str, options: Sequence[str] = ()) -> dict[str, float]:
    """Return the five signals of the module's table by name, each 0 to 1."""
    head = text[:READ_CHARACTERS]
    words = len(_WORD.findall(head))
    option_words = [len(_WORD.findall(option[:READ_CHARACTERS])) for option in options]
    clauses_of_options = min(2.0, sum(option_words) / len(option_words) / 6.0) if option_words else 0.0
    return {
        "length": _part(math.log(max(words, 5) / 5.0), math.log(60.0 / 5.0)),
        "clauses": _part(len(_CLAUSE.findall(head)) + clauses_of_options, 5.0),
        "hops": _part(len(_HOP.findall(head)), 3.0),
        "entities": _part(len({name for name in _NAME.findall(head) if len(name) > 1}), 4.0),
        "quantities": _part(len(_QUANTITY.findall(head)), 3.0),
    }


def _part(value: float, top: float) -> float:
    return min(1.0, value / top)
