"""Numbers, dates, times and names that other texts lack."""

import pytest

from drag_graph.graph.specifics import Specifics


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("It takes two weeks.", "lead time: 2 weeks"),
        ("It takes twenty-one days.", "21 days"),
        ("It costs 1,000 euros.", "1000 EUR"),
        ("It has 1.5 million rows.", "1,500,000 rows"),
        ("It has three hundred seats.", "300 seats"),
        ("They meet on 3 March 2025 at 5:30 pm.", "Time: 20250303_17:30"),
        ("They meet on March 3rd.", "2025-03-03"),
        ("They meet on the 3rd at 5.", "2025-03-03 17:00"),
        ("They met on Monday.", "2025-03-03"),
        ("They meet at 9 a.m.", "at 09:00"),
        ("Li Hua met Wolfgang Schulz.", "LiHua: Hello, WolfgangSchulz!"),
        ("The rule of the U.S. applies.", "The rule of the United States applies."),
        ("The BCC is common.", "Basal cell carcinoma is common."),
        ("The Italian team won.", "The team of Italy won."),
        ("The valve X-200 leaks.", "valve X200: leaks"),
        ("The pump is old. It weighs a lot.", "pump"),
        ("Radiation is used. Patients received it.", "nothing"),
    ],
)
def test_other_forms_of_a_value_are_not_absent(text, line):
    assert Specifics(text).absent_from([line]) == []


@pytest.mark.parametrize(
    ("text", "line", "absent"),
    [
        ("It takes three weeks.", "lead time: 2 weeks", ["three"]),
        ("It takes twenty-two days.", "21 days, 2 weeks", ["twenty two"]),
        ("It costs 1.5 million.", "1,500 and a million", ["1.5 million"]),
        ("They meet on 4 March 2025.", "2025-03-03", ["4 March 2025"]),
        ("They meet in April.", "2025-03-03", ["April"]),
        ("They meet at 6 pm.", "at 17:00", ["6 pm"]),
        ("They met on Tuesday.", "2025-03-03", ["Tuesday"]),
        ("They met Jennifer in Vienna.", "They met Jenny in Wien.", ["Jennifer", "Vienna"]),
        ("Marta Olsen is the engineer.", "Martin Olsen is the engineer.", ["Marta"]),
        ("Emily left the house.", "Jake left the house.", ["Emily"]),
        ("Emily's house is old.", "Jake's house is old.", ["Emily"]),
        ("The treatment is Erivedge.", "The treatment is vismodegib.", ["Erivedge"]),
    ],
)
def test_a_value_that_no_line_has_is_absent(text, line, absent):
    assert [name.removesuffix("'s") for name in Specifics(text).absent_from([line])] == absent


@pytest.mark.parametrize(
    "text",
    [
        "Die Pumpe wird von der Werkstatt geprüft.",
        "Das Hotel liegt in Wien.",
        "Der Termin in der Werkstatt war am Morgen.",
        "El Hotel es nuevo.",
        "阀门控制水泵。",
        "The valve is checked. It is safe.",
    ],
)
def test_nouns_of_other_languages_and_words_that_open_a_sentence_are_no_names(text):
    assert Specifics(text).names == []


def test_dates_in_other_languages_compare_by_value():
    assert Specifics("会议在2025年3月3日举行。").absent_from(["3 March 2025"]) == []
    assert Specifics("Am 4. März 2025 wird geprüft.").absent_from(["2025-03-03"]) == ["4. März 2025"]
