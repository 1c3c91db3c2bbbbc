import pytest

from drag_graph.distill import evidence_ranking as rank
from drag_graph.distill import evidence_step as step
from drag_graph.distill import merged_statements as statements
from drag_graph.distill import triple_extraction as extract
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from tests.unit.step_builders import evidence, query, reply

EMBED = LexicalEmbedder().embed


def texts(request):
    return "\n".join(message["content"] for message in request.messages)


@pytest.mark.parametrize("plan", ["lean", "paper"])
def test_the_request_shows_the_options_unless_blind(plan):
    asked = step.request(query(), number=7, plan=plan)
    assert "B. carbon dioxide" in texts(asked)
    assert "7" in texts(asked)
    assert asked.count == 7
    blind = step.request(query(), number=7, plan=plan, blind=True)
    assert "carbon dioxide" not in texts(blind) + "".join(message["content"] for message in blind.simpler)


def test_the_paper_plan_asks_what_the_published_prompt_asks():
    system, user = step.request(query(options=()), number=15, plan="paper").messages
    assert "never give the answer itself away" in system["content"]
    assert "without any remarks" in system["content"]
    assert user["content"].startswith("Write 15 evidence statements")
    assert user["content"].endswith("Which gas do plants take in?")


def test_the_gold_answer_is_never_sent():
    asked = step.request(query(options=(), gold="carbon dioxide"), number=3)
    assert "carbon dioxide" not in texts(asked) + str(asked.simpler)


def test_positions_ids_framings_and_times_come_from_the_reply():
    got = step.read(
        reply("evidence", [{"text": "Plants take in gas.", "framing": "causal"}, "Leaves have pores."]), query(), embed=EMBED
    )
    assert [item.position for item in got] == [0, 1]
    assert [item.framing for item in got] == ["causal", "unspecified"]
    assert all(item.kept and item.call_ids == ("call-1",) and item.created_at.startswith("2026") for item in got)
    again = step.read(reply("evidence", ["Leaves have pores."]), query(), embed=EMBED)
    assert again[0].id == got[1].id


def test_exact_repeats_are_dropped_with_a_reason_and_ids_of_their_own():
    got = step.read(reply("evidence", ["Ice is cold.", "ice  is cold", "Ice is cold.", "Ice is cold."]), query(), embed=EMBED)
    assert [item.kept for item in got] == [True, False, False, False]
    assert {item.reason for item in got[1:]} == {"says the same as evidence 0"}
    assert len({item.id for item in got}) == 4


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("Plants absorb carbon dioxide through their leaves.", "Plants absorb the carbon dioxide through their leaves.", False),
        ("Water boils at 100 degrees at sea level there.", "Water boils at 90 degrees at sea level there.", True),
        ("Warm air rises above the cold air near the coast.", "Warm air falls above the cold air near the coast.", True),
        ("Plants can make food in the light of day.", "Plants can not make food in the light of day.", True),
        ("Iron rusts in wet air.", "Mammals feed their young with milk.", True),
    ],
)
def test_near_repeats_go_but_different_numbers_and_opposites_stay(first, second, kept):
    got = step.read(reply("evidence", [first, second]), query(), embed=EMBED)
    assert got[0].kept
    assert got[1].kept is kept
    assert bool(got[1].reason) is not kept


def test_a_second_reply_goes_on_where_the_first_ended():
    first = step.read(reply("evidence", ["One thing.", "One thing."]), query(), embed=EMBED)
    assert step.missing(first, 3, "paper") == 2
    assert step.missing(first, 3, "lean") == 0
    more = step.request(query(), number=2, plan="paper", earlier=first)
    assert "0. One thing." in texts(more)
    both = step.read(reply("evidence", ["one thing", "Another matter."]), query(), embed=EMBED, earlier=first)
    assert [item.position for item in both] == [0, 1, 2, 3]
    assert [item.kept for item in both] == [True, False, False, True]


def test_more_than_asked_for_is_not_kept():
    got = step.read(
        reply("evidence", ["Ice melts.", "Ice melts.", "Iron rusts.", "Wood burns."]), query(), embed=EMBED, number=2
    )
    assert [item.kept for item in got] == [True, False, True, False]
    assert got[3].reason == "more than the 2 asked for"


def test_an_endless_statement_is_cut_after_a_word():
    got = step.read(reply("evidence", ["word " * 3_999]), query(), embed=EMBED)
    assert len(got[0].text) <= step.LONGEST
    assert got[0].text.endswith("word \u2026")


def test_the_lean_plan_takes_at_most_two_fifths_of_the_papers_prompt_tokens():
    """Fifteen evidence of 30 tokens, ten kept: what both plans send, counted by the built-in tokenizer."""
    count = LexicalEmbedder().count_tokens
    asked = query("Which term best describes the life cycle of an insect that becomes an adult without being a pupa?")
    items = evidence([" ".join(f"word{place}x{n}" for n in range(30)) for place in range(15)])
    kept = items[:10]
    totals = {}
    for plan in ("lean", "paper"):
        requests = [step.request(asked, number=15, plan=plan), rank.request(asked, [item.text for item in items], plan)]
        requests += [extract.request(asked, batch, plan) for batch in extract.batches(kept, plan)]
        if plan == "paper":
            requests.append(statements.request(asked, (), ()))
        totals[plan] = sum(count(texts(request)) for request in requests)
    assert totals["lean"] <= 0.4 * totals["paper"], totals


def test_evidence_that_seems_to_give_the_answer_away_can_be_dropped():
    said = reply("evidence", ["Oxygen.", "The right answer is B.", "Leaves take in carbon dioxide."])
    got = step.read(said, query(), embed=EMBED, drop_leaks=True)
    assert [item.kept for item in got] == [False, False, True]
    assert {item.reason for item in got[:2]} == {"seems to give the answer away"}
    assert all(item.kept for item in step.read(said, query(), embed=EMBED))
