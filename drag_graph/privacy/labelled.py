"""Find numbers, passwords and user names by the label before them: "passport no. X1234567", "my password is ..."."""

from collections.abc import Iterator

from drag_graph.privacy.spans import Pattern, Span, spans_of

_LINK = r"(?:\s*\(?\s*(?:number|numbers|no\b\.?|nr\b\.?|num\b\.?|id|ids|card|code|details?|ending in|ending with))*\)?\s*(?:(?:is|was|are|to|reads?|as|like|of|under|:|=|#|-)\s*){0,3}[\"'“‘«(]{0,2}"
_LABELS = {
    "PASSPORT": r"passport",
    "NATIONAL_ID": (
        r"ssn|social[ -]security|national insurance|national[ -]id(?:entity|entification)?|identity card|id card|identification|aadhaa?r|"
        r"pesel|personnummer|cpf|curp|dni|nif|nie|nino|bsn|hetu|codice fiscale|rrn|nric|voter|cnp|egn|oib|jmbg|tckn|my ?number|citizen|"
        r"tax(?:payer)?(?: identification)?|tin|itin|atin|ein|pan|vat|steuer-?id|tfn|sin|personal (?:number|code)"
    ),
    "DRIVER_LICENSE": r"driv(?:er|ing|er['’]s|ers['’]?) ?licen[cs]e|licen[cs]e(?: number)|dl",
    "PATIENT_ID": r"patient|medical record|medical file|mrn|hospital(?: number)|health(?: card| record| insurance card)?|nhs|medicare|medicaid|chart|case file",
    "INSURANCE_ID": r"insurance(?: policy)?|policy|member(?:ship)?|subscriber|claim|beneficiary",
    "EMPLOYEE_ID": r"employee|staff|badge|student|matriculation|payroll|personnel|service|officer|suspect identification",
    "BANK_ACCOUNT": r"(?:bank |savings |checking |current |member |customer )?accounts?|a/c|acct|routing|sort code|swift|bic|iban|ifsc|micr|card|credit card|debit card|cc|cvv|cvc|pin",
    "PLATE": r"(?:licen[cs]e|number|registration|vehicle) plate|plate|vehicle registration|car registration|registration",
    "DEVICE_ID": r"imei|serial|vin|device|mac address|order|reference|ref|booking|ticket|file|docket|case",
    "IP_ADDRESS": r"ip(?: address)?",
    "POSTCODE": r"zip(?: ?code)?|post(?:al)? ?code|postcode|plz|pin ?code",
    "PHONE": r"phone|telephone|tel\.?|mobile|cell|cellphone|fax|whatsapp|call(?: me| us)?(?: at| on)?|answering at|reach (?:me|us) (?:at|on)|text me (?:at|on)|ring me (?:at|on)",
}
LABEL = rf"(?i:(?:{'|'.join(_LABELS.values())}|e-?mail)(?:\s(?:number|no|nr))?)"
BEFORE_A_CODE = Pattern(rf"{LABEL}[\s:#]*;")
"""A label and a masked code (`;`)."""
_CODE = r"(?:\p{Lu}{2,5}:\s?)?(?=[^\s,;]*\d)#?\*?[\p{L}\p{N}][\p{L}\p{N}*]*(?:[-/.][\p{L}\p{N}*]+)*(?: (?=[\p{Lu}\d]*\d)[\p{Lu}\d]{2,}(?:-[\p{Lu}\d]+)*){0,6}"
_NUMBERED = [(kind, Pattern(rf"(?i:\b(?:{label})(?:['’]s)?{_LINK})(?P<code>{_CODE})")) for kind, label in _LABELS.items()]
_MIN_LENGTH = {"POSTCODE": 4, "BANK_ACCOUNT": 3, "PHONE": 7}
"""Minimum letters and digits of a code, by type. The default is 5."""

_PASSWORD = Pattern(
    r"(?i:\b(?:password|passwort|passcode|passphrase|pass phrase|pwd|passwd|pin code|secret key|api key|access token|secret)s?"
    r"(?:\s+(?:attempt|string|for (?:it|this|that|the \w+|my \w+)|hint))*\s*(?:(?:is|was|are|to|revealed|set|reads|of|:|=|,)\s*){1,3}[\"'“‘«]{0,2}"
    r"|\b(?:password|passcode|passphrase|pwd)s?\s+(?=[\"'“‘(]*[^\s]*[\d!@#$%^&*]))[\"'“‘«(]{0,2}(?P<code>[^\s\"'”’»,;]{3,}[^\s\"'”’»,;.)?!]|[^\s\"'”’»,;]{4,}(?=['\"’”]))"
)
_SECRET_LOOKS = Pattern(r"\d|[!@#$%^&*_+=~]|\p{Ll}\p{Lu}")
_USER = Pattern(
    r"(?i:\b(?:user ?name|user[ -]?id|login(?: name)?|log-in|screen ?name|nick ?name|nick|handle|gamer ?tag|account name|user|username)\b"
    r"(?:\s+(?:on|in|at|for)\s+(?!what\b|which\b)(?:\w+\s){0,2}\w+)?\s*(?:(?:is|was|are|as|called|named|reads|:|=|,(?!\s*please\b))\s*){1,3}(?:for\s+)?[\"'“‘«]{0,2}"
    r"|\bI\s+(?:\w+\s+)?(?:log|sign|post|play) (?:in |on )?as\s+[\"'“‘]?|\b(?:log(?:ged)? in as|signed in as|known online as|posting as|user|username|userid|login for)\s+[\"'“‘«]{0,2}(?=\S*[\d_.'’\"”])|\buser name\s+(?=\S*[\d_]))"
    r"(?P<code>@?[\p{L}\p{N}][\p{L}\p{N}._-]{2,}[\p{L}\p{N}])"
)
_QUOTED_USER = Pattern(r"(?i:\b(?:login|log-in|user ?name|user)\b[^\n]{0,60}?\bwas)\s+[\"'“‘](?P<code>[^\s\"'”’]{3,})[\"'”’]")
_AFTER_USER = Pattern(r"\s?/\s?(?P<code>[^\s\"'”’»,;/]{3,}[^\s\"'”’»,;/.)?!])")
"""A password after a user name: jane_77 / s3cret."""
_HANDLE = Pattern(r"(?<![\w@.])@(?P<code>[A-Za-z][A-Za-z0-9_.]{2,30}[A-Za-z0-9_])\b")
_NOT_A_USER = Pattern(
    r"(?i)^(?:the|a|an|not|in|on|at|and|or|asked|required|prompted|able|interface|input|experience|authentication|then|that|this|used|allowed|known|given|defined|always|never|only|also|called)$"
)
_UK_POSTCODE = Pattern(r"\b[A-Z]{1,2}\d[A-Z\d]?\s\d[ABD-HJLNP-UW-Z]{2}\b")
_CA_POSTCODE = Pattern(r"\b[ABCEGHJ-NPRSTVXY]\d[A-Z]\s\d[A-Z]\d\b")
_PLATE = Pattern(
    r"\b(?:[A-Z]{2}\d{2}\s[A-Z]{3}|[A-ZÄÖÜ]{1,3}-[A-Z]{1,2}\s?\d{2,4}|[A-Z]{3}[-\s]\d{3,4}|\d{1,4}-[A-Z]{2,3}-\d{2,3}|[A-Z]{2}-\d{3}-[A-Z]{2})\b"
)
_CAR = Pattern(
    r"(?i)\b(?:plates?|licen[cs]e plate|number plate|registration|registered|my car|his car|her car|vehicle|parked|drives?|reg)\b"
)


def find(text: str) -> list[Span]:
    """Return codes, secrets and user names with labels."""
    return [*_secrets(text), *_numbered(text), *_users(text), *_post_and_plates(text)]


def _secrets(text: str) -> Iterator[Span]:
    for match in _PASSWORD.finditer(text):
        if _SECRET_LOOKS.search(match["code"]):
            yield Span(match.start("code"), match.end("code"), "PASSWORD", "label")


def _numbered(text: str) -> Iterator[Span]:
    for kind, pattern in _NUMBERED:
        for match in pattern.finditer(text):
            code = match["code"]
            digits = sum(map(str.isdigit, code))
            if sum(map(str.isalnum, code)) >= _MIN_LENGTH.get(kind, 5) and digits >= (7 if kind == "PHONE" else 3):
                yield Span(match.start("code"), match.end("code"), kind, "label")


def _users(text: str) -> Iterator[Span]:
    for match in _USER.finditer(text):
        if not _NOT_A_USER.match(match["code"]):
            yield Span(match.start("code"), match.end("code"), "USER_NAME", "label")
            after = _AFTER_USER.match(text, match.end("code"))
            if after and _SECRET_LOOKS.search(after["code"]):
                yield Span(after.start("code"), after.end("code"), "PASSWORD", "label")
    yield from spans_of(_QUOTED_USER, text, "USER_NAME", "label", "code")
    yield from spans_of(_HANDLE, text, "USER_NAME", "format")


def _post_and_plates(text: str) -> Iterator[Span]:
    yield from spans_of(_UK_POSTCODE, text, "POSTCODE", "format")
    yield from spans_of(_CA_POSTCODE, text, "POSTCODE", "format")
    if _CAR.search(text):
        yield from spans_of(_PLATE, text, "PLATE", "format")
