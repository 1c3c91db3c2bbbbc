"""Closed-class words and a few open-class lists: what the word-order rules recognise.

The long lists are in lexicon.txt beside this module.
"""

from pathlib import Path

from drag_graph.graph.word_lists import read_lists


def lexicon(name: str) -> frozenset[str]:
    """Return the words of a list in lexicon.txt. Raises KeyError for an unknown list."""
    return frozenset(read_lists(Path(__file__).with_name("lexicon.txt"))[name])


ARTICLES = frozenset({"a", "an", "the"})

DETERMINERS = ARTICLES | lexicon("determiners")

# Determiners that can also stand alone as a subject: "some contain", "this causes".
STANDALONE = lexicon("standalone")

RESOLVABLE = frozenset({"it", "they", "he", "she"})
POSSESSIVES = frozenset({"its", "his", "her", "their"})
PRONOUNS = lexicon("pronouns")

PREPOSITIONS = lexicon("prepositions")

SUBORDINATORS = lexicon("subordinators")
# What such a clause says is itself asserted; after "if", "unless", "when" it is a condition.
ASSERTING = frozenset({"because", "although", "though", "whereas", "while"})

RELATIVES = frozenset({"which", "who", "whom", "that", "whose", "where"})
CONJUNCTIONS = frozenset({"and", "or", "but", "nor", "yet", "&"})
NEGATIONS = frozenset({"not", "never", "n't", "cannot"})
QUESTION_WORDS = frozenset({"what", "which", "who", "whom", "whose", "where", "when", "why", "how"})

MODALS = frozenset({"can", "could", "may", "might", "must", "shall", "should", "will", "would"})
BE = frozenset({"is", "are", "was", "were", "am", "be", "been", "being", "'re", "'m"})
FINITE_BE = frozenset({"is", "are", "was", "were", "am", "'re", "'m"})
HAVE = frozenset({"has", "have", "had"})
DO = frozenset({"does", "do", "did"})
NEGATED_AUXILIARIES = lexicon("negated_auxiliaries")

ADVERBS = lexicon("adverbs")
# Words in -ly that are not adverbs.
NOT_ADVERBS = lexicon("not_adverbs")

ADJECTIVES = lexicon("adjectives")
NOT_ADJECTIVES = lexicon("not_adjectives")
ADJECTIVE_ENDINGS = ("ous", "ful", "less", "able", "ible", "ical", "ish", "ary", "ic", "ive", "al")

# Heads that say little without what follows "of": "a kind of X", "the number of X".
LIGHT_HEADS = lexicon("light_heads")

MONTHS = lexicon("months")

ABBREVIATIONS = lexicon("abbreviations")

PLURAL_WITHOUT_S = lexicon("plural_without_s")
SINGULAR_WITH_S = lexicon("singular_with_s")

FUNCTION_WORDS = frozenset({"to", "'s", "there", "then", "than", "also", "very", "so", "just", "too"}).union(
    *(DETERMINERS, PRONOUNS, PREPOSITIONS, SUBORDINATORS, RELATIVES, CONJUNCTIONS, NEGATIONS, QUESTION_WORDS, MODALS),
    *(BE, HAVE, DO),
)
