"""Word endings: the singular of a noun and the plain form of a verb, by rules and lists of this project's own making.

English only; a word that no rule knows stays as it is. The forms are for comparing, so a rare word whose plain form comes out
misspelt does no harm as long as all its inflections come out alike.
"""

import re

# Irregular plurals, and words that only look like plurals.
_NOUNS = {
    "analyses": "analysis", "bacteria": "bacterium", "buses": "bus", "cacti": "cactus", "calves": "calf", "children": "child",
    "crises": "crisis", "criteria": "criterion", "data": "datum", "diagnoses": "diagnosis", "diseases": "disease",
    "embryos": "embryo", "feet": "foot", "foci": "focus", "fungi": "fungus", "gases": "gas", "geese": "goose",
    "genera": "genus",
    "halves": "half", "heroes": "hero", "hooves": "hoof", "hypotheses": "hypothesis", "indices": "index", "knives": "knife",
    "larvae": "larva", "leaves": "leaf", "lenses": "lens", "lice": "louse", "lives": "life", "loaves": "loaf",
    "mediums": "medium", "men": "man", "metamorphoses": "metamorphosis", "mice": "mouse", "mitochondria": "mitochondrion",
    "neuroses": "neurosis", "nuclei": "nucleus", "oases": "oasis", "oxen": "ox", "people": "person", "phenomena": "phenomenon",
    "potatoes": "potato", "protozoa": "protozoan", "pupae": "pupa", "radii": "radius", "selves": "self", "shelves": "shelf",
    "stimuli": "stimulus", "strata": "stratum", "syntheses": "synthesis", "teeth": "tooth", "theses": "thesis",
    "thieves": "thief", "tomatoes": "tomato", "vertebrae": "vertebra", "vertices": "vertex", "viruses": "virus",
    "volcanoes": "volcano", "wives": "wife", "wolves": "wolf", "women": "woman", "alveoli": "alveolus", "algae": "alga",
    "antennae": "antenna", "axes": "axis", "bases": "base", "ova": "ovum", "spermatozoa": "spermatozoon", "villi": "villus",
}  # fmt: skip
_SINGULAR = frozenset(
    """always bias canvas chaos corps cosmos diabetes economics ethics gas genetics herpes lens mathematics measles mumps news
    physics plus politics rabies scabies series species summons tetanus thus linguistics electronics aerobics whereas perhaps
    is was has this us its yes as his hers ours theirs caries faeces feces biceps triceps pancreas christmas atlas kansas texas
    arkansas alias ananas trellis""".split()  # noqa: SIM905
)
_VERBS = {
    "am": "be", "are": "be", "is": "be", "was": "be", "were": "be", "been": "be", "being": "be", "'s": "be", "has": "have",
    "had": "have", "having": "have", "does": "do", "did": "do", "done": "do", "doing": "do", "goes": "go", "went": "go",
    "gone": "go", "became": "become", "began": "begin", "begun": "begin", "beginning": "begin", "bitten": "bite",
    "biting": "bite", "bore": "bear",
    "born": "bear", "borne": "bear", "bought": "buy", "bound": "bind", "broke": "break", "broken": "break", "brought": "bring",
    "built": "build", "came": "come", "caught": "catch", "chose": "choose", "chosen": "choose", "dealt": "deal", "died": "die",
    "dies": "die", "dying": "die", "drawn": "draw", "drew": "draw", "driven": "drive", "drove": "drive", "eaten": "eat",
    "ate": "eat", "fed": "feed", "fell": "fall", "fallen": "fall", "felt": "feel", "fought": "fight", "flew": "fly",
    "found": "find", "gave": "give", "given": "give", "got": "get", "gotten": "get",
    "grew": "grow", "grown": "grow", "heard": "hear", "held": "hold", "hid": "hide", "hidden": "hide", "kept": "keep",
    "knew": "know", "known": "know", "laid": "lay", "led": "lead", "left": "leave", "lent": "lend", "lay": "lie", "lies": "lie",
    "lying": "lie", "lost": "lose", "made": "make", "making": "make", "meant": "mean", "met": "meet", "paid": "pay",
    "ran": "run", "running": "run", "rose": "rise", "risen": "rise", "said": "say", "saw": "see", "seen": "see",
    "sent": "send", "shown": "show", "sold": "sell", "sought": "seek", "spent": "spend", "spoke": "speak",
    "spoken": "speak", "stood": "stand", "stuck": "stick", "swam": "swim", "taken": "take", "took": "take",
    "taught": "teach", "thought": "think", "threw": "throw", "thrown": "throw", "tied": "tie", "told": "tell",
    "understood": "understand", "used": "use", "using": "use", "won": "win", "wore": "wear", "worn": "wear",
    "written": "write", "wrote": "write", "cannot": "can", "can't": "can", "won't": "will", "arose": "arise",
    "arisen": "arise", "slept": "sleep", "split": "split", "spread": "spread", "underwent": "undergo", "undergone": "undergo",
    "overcame": "overcome", "sunk": "sink", "sank": "sink", "froze": "freeze", "frozen": "freeze", "shed": "shed",
    "succeeded": "succeed", "succeeding": "succeed", "preceded": "precede", "preceding": "precede", "exceeded": "exceed",
    "agreed": "agree", "freed": "free", "seed": "seed", "need": "need", "feed": "feed", "bleed": "bleed", "speed": "speed",
    "breed": "breed", "bred": "breed", "embed": "embed", "focused": "focus", "focuses": "focus", "focusing": "focus",
    "bring": "bring", "sing": "sing", "ring": "ring", "spring": "spring", "during": "during", "following": "follow",
    "according": "according", "species": "species",
}  # fmt: skip
# Endings of a stem (what is left without "ed" or "ing") that had a silent e: "includ", "produc", "requir", "creat".
_SILENT_E = re.compile(
    r"(?:[vuz]|[^s]s|c|[^n]g|(?:ch|rr|h|l|xch)ang|lleng|lung|[^e]at|cre?at|(?:^|[^aeo])ir|[^aeiou](?:ar|ur)|tur|sur"
    r"|[^aeo]in|[^aeo][aiu]d|[^o]od|c?ced|[^o]ut|[lp]et|[mnv]ot|ib|[bcdfgkpstz]l|[^e]ap|yp|[^eo]ak|[^o]ik|[^o]ok|[^o]ul"
    r"|um|[^l]om|plor|stor|gnor|terfer|dher)$"
)
_DOUBLE_L = re.compile(r"[^aeiou]*[aeiou]ll")
"""Stems such as "call", "kill", "sell", which have their second l of themselves."""
_SHORT = 3
_SIBILANTS = ("sses", "shes", "ches", "xes", "zzes")


def noun(word: str) -> str:
    """Return the singular of a lower-case noun."""
    if word in _NOUNS:
        return _NOUNS[word]
    if word in _SINGULAR or len(word) <= _SHORT or not word.endswith("s") or word.endswith(("ss", "us", "is", "ous", "sis")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > _SHORT + 1 else word[:-1]
    if word.endswith(_SIBILANTS):
        return word[:-2]
    return word[:-1]


def verb(word: str) -> str:
    """Return the plain form of a lower-case verb; a word that is not an inflected verb stays as it is."""
    plain = _VERBS.get(word, "")
    if plain or len(word) <= _SHORT:
        return plain or word
    if word.endswith(("ied", "ies")) and len(word) > _SHORT + 1:
        return word[:-3] + "y"
    if (word.endswith("ing") and len(word) > _SHORT + 2) or (word.endswith("ed") and len(word) > _SHORT + 1):
        return _stem_of(word[:-3] if word.endswith("ing") else word[:-2])
    if word.endswith((*_SIBILANTS, "oes")):
        return word[:-2]
    third_person = word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in _SINGULAR
    return word[:-1] if third_person else word


def _stem_of(stem: str) -> str:
    """Return the verb of a stem that lost "ed" or "ing": undo a doubled consonant, or give back a silent e."""
    if len(stem) > _SHORT and stem[-1] == stem[-2] and stem[-1] not in "sze":
        return stem if _DOUBLE_L.fullmatch(stem) else stem[:-1]
    return f"{stem}e" if _SILENT_E.search(stem) else stem
