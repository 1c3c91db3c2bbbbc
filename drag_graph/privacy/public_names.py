"""Public names and ordinary words, from the lists in `data`."""

import unicodedata
from functools import cache
from pathlib import Path

import regex

from drag_graph.privacy.spans import Pattern

DATA = Path(__file__).parent / "data"
EPONYM = Pattern(
    r"(?:['’]s?)?(?:[-–\s]+(?:\p{Lu}[\p{L}-]+[-–\s]+)?)(?:disease|syndrome|sign|test|law|laws|theorem|theory|principle|equation|constant|effect|model|"
    r"rule|index|scale|score|method|reaction|operation|procedure|fracture|palsy|tumou?r|lymphoma|sarcoma|carcinoma|cell|cells|"
    r"body|bodies|duct|tube|tubes|canal|node|nodes|ligament|triangle|space|pouch|line|lines|point|maneuver|manoeuvre|reflex|phenomenon|"
    r"triad|criteria|classification|anemia|anaemia|an(?:a)?emia|ataxia|chorea|thyroiditis|nephritis|encephalopathy|dementia|"
    r"stain|agar|medium|bacillus|virus|antigen|antibody|factor|protein|cycle|process|number|series|transform|distribution|inequality|"
    r"paradox|hypothesis|conjecture|algorithm|curve|diagram|plot|ratio|coefficient|experiment|apparatus|engine|machine|"
    r"doctrine|plan|act|amendment|treaty|dynasty|empire|revolution|rebellion|reforms?|administration|presidency|court|case|"
    r"prize|award|medal|comet|telescope|crater|mountains?|volcano|river|lake|island|falls|strait|bay|hospital|university|college|"
    r"group|ring|field|space|matrix|series|sequence|set|code|test|condition|oscillator|potential|radius|length|limit)\b",
    flags=regex.IGNORECASE,
)
"""Words that make the surname before them the name of a thing, as in "Parkinson's disease"."""
THING = Pattern(
    r"(?i)(?:['’]s?)?\s(?:disease|syndrome|sign|law|theorem|equation|effect|belts?|model|theory|paradox|principle|hypothesis|concept)\b"
)
"""Words that do the same after a full name."""
NOT_A_NAME = Pattern(
    r"(?i)\b\p{L}{3,}(?:tion|sion|ness|ase|ases|itis|osis|oses|emia|aemia|oma|omas|pathy|plasia|trophy|mycin|cillin|azole|idine|"
    r"olol|pril|statin|phylline|coccus|cocci|bacter|bacteria|viridae|virus|idae|aceae|phyta|mycetes|ism|istic|ology|graphy|metry|"
    r"scopy|ectomy|otomy|ostomy|uria|algia|rrhea|rrhoea|philia|phobia|genesis|lysis|tensin|kinin|globulin|amine|oxide|chloride|"
    r"phosphate|sulfate|nitrate|acid|acids|ability|ibility|ical|ally|ously)\b"
)
LONGEST_NAME = 60
LONGEST_ABBREVIATION = 5
_ABBREVIATION = Pattern(r"(?:\p{Lu}\p{Ll}?\p{Lu}|\p{Lu}\p{Ll}\p{Ll}?\p{Lu}|\p{Ll}+\p{Lu})\p{L}?$")
_INITIAL = Pattern(r"\p{Lu}\.?$")


def folded(text: str) -> str:
    """Return a text in lower case, without accents and full stops, with single spaces."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return " ".join(plain.replace("’", "'").replace(".", " ").split())


def _lines(name: str) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        head, _, rest = line.partition(": ")
        rows[head] = rest.split(", ") if ", " in rest or name != "words.txt" else rest.split()
    return rows


@cache
def countries() -> dict[str, str]:
    """Return the part of the world of each country, by its folded name."""
    return {folded(name): region for region, names in _lines("countries.txt").items() for name in names}


@cache
def cities() -> dict[str, str]:
    """Return the country of each well-known city, by its folded name."""
    return {folded(name): country for country, names in _lines("cities.txt").items() for name in names}


@cache
def _people() -> tuple[frozenset[str], dict[str, frozenset[str]]]:
    """Return the folded full names, and the given names of each surname."""
    full = {folded(name) for names in _lines("people.txt").values() for name in names}
    given: dict[str, set[str]] = {}
    for name in full:
        first, *rest = name.split()
        if rest:
            given.setdefault(rest[-1], set()).add(first)
    return frozenset(full), {last: frozenset(firsts) for last, firsts in given.items()}


@cache
def common_names() -> frozenset[str]:
    """Return surnames so common that alone they do not mean a public person."""
    return frozenset(folded((DATA / "names.txt").read_text(encoding="utf-8")).split())


@cache
def words() -> frozenset[str]:
    """Return words that are not names, folded."""
    return frozenset(folded(word) for row in _lines("words.txt").values() for word in row)


@cache
def jobs() -> frozenset[str]:
    """Return the last words of job titles."""
    return frozenset((DATA / "jobs.txt").read_text(encoding="utf-8").casefold().split())


def is_known_person(name: str) -> bool:
    """Whether a name is that of a listed public person: in full, by surname alone, or with initials."""
    full, given = _people()
    plain = folded(name)
    if plain in full:
        return True
    parts = plain.split()
    if len(parts) == 1:
        return parts[0] in given and parts[0] not in common_names()
    firsts = given.get(parts[-1], frozenset())
    return any(first == parts[0] or (len(parts[0]) == 1 and first.startswith(parts[0])) for first in firsts)


def names_a_thing(text: str, start: int, end: int) -> bool:
    """Whether the name in this place is part of the name of a thing."""
    return bool((THING if " " in text[start:end] else EPONYM).match(text, end))


def is_place(name: str) -> bool:
    """Whether a name is a listed country or city."""
    plain = folded(name).removeprefix("the ")
    return plain in countries() or plain in cities()


def may_be_a_name(text: str) -> bool:
    """Whether a text looks like a person's name: capitalised words that are not ordinary words."""
    parts = text.replace("’", "'").split()
    if not parts or len(text) > LONGEST_NAME or any(c.isdigit() or c in "|=+*/<>&;:()[]{}\\_" for c in text):
        return False
    if any(not part.strip("'")[:1].isalpha() or part.strip("'")[0].islower() for part in (parts[0], parts[-1])):
        return False
    if any(folded(part) in words() for part in parts if not _INITIAL.match(part)) or NOT_A_NAME.search(text):
        return False
    if any(_ABBREVIATION.match(part) for part in parts):
        return False
    return not all(part.isupper() and len(part) <= LONGEST_ABBREVIATION and not _INITIAL.match(part) for part in parts)
