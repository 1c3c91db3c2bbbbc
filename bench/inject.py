"""Put private details of every kind into clean exam questions, to measure detectors on what they have not seen.

    python bench/inject.py --data FOLDER --out FILE [--n 5000] [--seed 7]

FOLDER holds mmlu.jsonl, arc_challenge.jsonl, medmcqa.jsonl and medqa_us.jsonl. Names, towns, streets and firms are made of
syllables, so that no list has them. Numbers with a checksum are made right, other numbers at random. The sentences around them
were written for this file. Each line of FILE is {"id", "question", "options", "answer", "pii_spans", "clean_question"}, with
`start`, `end` and `type` of each span.
"""

import argparse
import json
import random
from collections.abc import Callable
from pathlib import Path

SETS = ("mmlu", "arc_challenge", "medmcqa", "medqa_us")
ONSETS = [
    "b",
    "br",
    "d",
    "dr",
    "f",
    "g",
    "gr",
    "h",
    "j",
    "k",
    "kl",
    "l",
    "m",
    "n",
    "p",
    "pr",
    "r",
    "s",
    "st",
    "t",
    "tr",
    "v",
    "w",
    "z",
    "sh",
    "ch",
    "y",
]
VOWELS = ["a", "e", "i", "o", "u", "ai", "ei", "ou", "ia", "ö", "ü", "á", "é"]
CODAS = ["", "", "n", "l", "r", "s", "m", "k", "nd", "rt", "lm", "sk", "ž", "ń"]
FOREIGN = ("абвгдежзиклмнопрстуфхцч", "אבגדהוזחטיכלמנסעפצקרשת", "αβγδεζηικλμνξοπρστυφχω")
Draw = random.Random
Made = list[str | tuple[str, str]]
"""A sentence: plain text, and pairs of a kind and a private detail."""


def syllables(draw: Draw, least: int, most: int) -> str:
    parts = (draw.choice(ONSETS) + draw.choice(VOWELS) + draw.choice(CODAS) for _ in range(draw.randint(least, most)))
    return "".join(parts).capitalize()


def person(draw: Draw) -> str:
    family = syllables(draw, 2, 3)
    middle = draw.choice(["", "", f" {draw.choice('ABDEGHJKLMNPRSTVW')}.", f" {draw.choice(['van', 'de', 'al', 'von'])}"])
    return f"{syllables(draw, 1, 3)}{middle} {family}"


def foreign_person(draw: Draw) -> str:
    letters = draw.choice(FOREIGN)
    return " ".join("".join(draw.choices(letters, k=draw.randint(4, 8))).capitalize() for _ in range(2))


def town(draw: Draw) -> str:
    return syllables(draw, 2, 3) + draw.choice(["", "ville", "berg", " Bay", "stad", "ton"])


def street(draw: Draw) -> str:
    name, number = syllables(draw, 2, 3), draw.randint(1, 999)
    english = f"{number} {name} {draw.choice(['Street', 'Road', 'Lane', 'Avenue', 'Close'])}"
    northern = f"{name}{draw.choice(['straße', 'gata', 'laan', 'weg'])} {number}"
    return draw.choice([english, northern, f"{number} rue {name}", f"Calle {name} {number}", f"ul. {name} {number}"])


def firm(draw: Draw) -> str:
    return f"{syllables(draw, 2, 3)} {draw.choice(['Ltd', 'Group', 'Logistics', 'Partners', 'Foods', 'GmbH'])}"


def digits(draw: Draw, number: int) -> str:
    return "".join(draw.choices("0123456789", k=number))


def card(draw: Draw) -> str:
    body = [int(c) for c in draw.choice("45") + digits(draw, 14)]
    total = sum(body[1::2]) + sum(sum(divmod(2 * digit, 10)) for digit in body[0::2])
    plain = "".join(map(str, body)) + str(-total % 10)
    return draw.choice(
        [plain, " ".join(plain[at : at + 4] for at in range(0, 16, 4)), "-".join(plain[at : at + 4] for at in range(0, 16, 4))]
    )


def iban(draw: Draw) -> str:
    body = digits(draw, 18)
    check = 98 - int(body + "131400") % 97
    plain = f"DE{check:02d}{body}"
    return draw.choice([plain, " ".join(plain[at : at + 4] for at in range(0, 22, 4))])


def phone(draw: Draw) -> str:
    area, first, last = (digits(draw, size) for size in (3, 3, 4))
    country = draw.randint(20, 98)
    return draw.choice(
        [
            f"+{country} {area} {first} {last}",
            f"+{country}-{area}-{first}{last}",
            f"({area}) {first}-{last}",
            f"+1 ({area}) {first}-{last}",
        ]
    )


def email(draw: Draw) -> str:
    name = f"{syllables(draw, 1, 2)}.{syllables(draw, 2, 2)}{draw.choice(['', '7', '88'])}"
    return f"{name}@{syllables(draw, 2, 2)}.{draw.choice(['example', 'net', 'org.uk', 'io'])}".lower()


def user(draw: Draw) -> str:
    return draw.choice(
        [
            f"{syllables(draw, 2, 3)}{digits(draw, 2)}",
            f"{syllables(draw, 1, 2)}_{syllables(draw, 1, 2)}".lower(),
            syllables(draw, 3, 3).lower(),
        ]
    )


def password(draw: Draw) -> str:
    return f"{syllables(draw, 2, 2)}{draw.choice('!#$%&*')}{digits(draw, 3)}"


def birth(draw: Draw) -> str:
    day, month, year = draw.randint(1, 28), draw.randint(1, 12), draw.randint(1935, 2009)
    names = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ]
    return draw.choice(
        [
            f"{day}/{month}/{year}",
            f"{year}-{month:02d}-{day:02d}",
            f"{day} {names[month - 1]} {year}",
            f"{names[month - 1]} {day}, {year}",
            f"{day:02d}.{month:02d}.{year}",
        ]
    )


def code(draw: Draw) -> str:
    letters = "".join(draw.choices("ABCDEFGHKLMNPRSTUVWXYZ", k=2))
    return draw.choice([f"{letters}{digits(draw, 7)}", f"{letters}-{digits(draw, 6)}", digits(draw, 9)])


def ip(draw: Draw) -> str:
    return f"{draw.choice([81, 93, 145, 203])}.{draw.randint(1, 99)}.{draw.randint(1, 250)}.{draw.randint(1, 250)}"


def position(draw: Draw) -> str:
    return f"{draw.uniform(-60, 60):.5f}, {draw.uniform(-170, 170):.5f}"


def job(draw: Draw) -> str:
    return draw.choice(
        [
            "tram driver",
            "dental hygienist",
            "night porter",
            "violin teacher",
            "crane operator",
            "tax clerk",
            "sheep farmer",
            "radio engineer",
        ]
    )


SENTENCES: list[Callable[[Draw], Made]] = [
    lambda d: [("PERSON", person(d)), " here, writing from ", ("CITY", town(d)), "."],
    lambda d: ["This is ", ("PERSON", person(d)), ", I work as a ", ("JOB", job(d)), " for ", ("ORG", firm(d)), "."],
    lambda d: ["For my sister ", ("PERSON", person(d)), " who lives at ", ("STREET", street(d)), ", ", ("CITY", town(d)), "."],
    lambda d: ["You can mail me: ", ("EMAIL", email(d)), " or ring ", ("PHONE", phone(d)), "."],
    lambda d: ["If unclear, text ", ("PHONE", phone(d)), " please."],
    lambda d: ["I log in as ", ("USERNAME", user(d)), " and my password is ", ("PASSWORD", password(d)), "."],
    lambda d: ["Username: ", ("USERNAME", user(d)), "."],
    lambda d: ["My date of birth is ", ("DOB", birth(d)), "."],
    lambda d: [("PERSON", person(d)), ", born ", ("DOB", birth(d)), ", wants to know this."],
    lambda d: ["Charge it to ", ("CREDIT_CARD", card(d)), ", thanks."],
    lambda d: ["Transfer the fee to ", ("IBAN", iban(d)), "."],
    lambda d: ["My passport no. is ", ("PASSPORT", code(d)), "."],
    lambda d: ["Patient number ", ("PATIENT_ID", code(d)), ", insurance policy ", ("INSURANCE_ID", code(d)), "."],
    lambda d: ["Student ID: ", ("STUDENT_ID", code(d)), ", ", ("PERSON", person(d)), "."],
    lambda d: ["The tutor, Ms ", ("PERSON", person(d)), ", could not say."],
    lambda d: ["Sent from ", ("IP_ADDRESS", ip(d)), " near ", ("COORDINATES", position(d)), "."],
    lambda d: ["Kind regards, ", ("PERSON", person(d)), ", ", ("STREET", street(d)), "."],
    lambda d: ["My name is ", ("PERSON", foreign_person(d)), "."],
    lambda d: ["SSN ", ("SSN", f"{d.randint(100, 665)}-{d.randint(10, 99)}-{d.randint(1000, 9999)}"), " is on file."],
]  # fmt: skip


def injected(row: dict[str, object], number: int, draw: Draw) -> dict[str, object]:
    question = str(row["question"])
    parts = draw.choice(SENTENCES)(draw)
    before = draw.random() < 0.5
    text = "" if before else question.rstrip() + " "
    spans = []
    for part in parts:
        if isinstance(part, tuple):
            spans.append({"start": len(text), "end": len(text) + len(part[1]), "type": part[0]})
            text += part[1]
        else:
            text += part
    if before:
        text += " " + question
    options = list(map(str, row["options"]))  # type: ignore[call-overload]
    told = {"question": text, "options": options, "answer": row["answer"], "pii_spans": spans, "clean_question": question}
    return {"id": f"injected-{number}", **told}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--n", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    rows = [
        json.loads(line) for name in SETS for line in (given.data / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    draw = random.Random(given.seed)
    with given.out.open("w", encoding="utf-8") as out:
        for number in range(given.n):
            out.write(json.dumps(injected(draw.choice(rows), number, draw), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
