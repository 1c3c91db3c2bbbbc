"""What of a server's reason for an HTTP 400 reaches people, and what never does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drag_graph.models.provider_errors import _PLAIN, LONGEST_REASON, reason_of

KEY = "the-secret-key-4711"
PROMPT = "Why does Zo\u00eb take aspirin for her weak heart in \u5317\u4eac?\n0. Aspirin thins the blood."


class RefusalError(Exception):
    """An error with the server's body, as the OpenAI library raises it."""

    def __init__(self, body):
        super().__init__("an error of a library")
        self.body = body


def reason(message, sent=PROMPT, key=KEY):
    return reason_of([Exception("wrapped"), RefusalError({"message": message, "code": None})], sent, key)


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
        "max_tokens is too large: 99999. This model supports at most 16384 completion tokens.",
        "Invalid schema for response_format: 'additionalProperties' is required to be false.",
    ],
)
def test_the_reason_is_passed_on_in_the_server_s_words(message):
    assert reason(message) == message


@pytest.mark.parametrize("body", [{"error": {"message": "no tools"}}, {"detail": "no tools"}, {"message": "no tools"}])
def test_it_is_found_in_the_bodies_of_several_servers(body):
    assert reason_of([RefusalError(body)], PROMPT, KEY) == "no tools"


@pytest.mark.parametrize(
    ("message", "secret"),
    [
        (f"bad key {KEY} given", KEY),
        ("bad key sk-abc given", "sk-abc"),
        ("bad key AbCdEfGh12345678IjKl given", "AbCdEfGh12345678IjKl"),
        ("send it as Authorization: Bearer abcdef", "abcdef"),
        ("see https://ann:pass@host/v1?key=abc for more", "ann:pass"),
        ("see https://ann:pass@host/v1?key=abc for more", "key=abc"),
        ("flagged: 'aspirin'", "aspirin"),
        ("input: Why does Zo\u00eb take aspi", "aspi"),
        ("input: Why does Zo\\u00eb take", "Zo"),
        ("input: \u5317", "\u5317"),
        ("input: \\u5317\\u4eac", "u5317"),
        ("input: heart", "heart"),
        (r"input_value='it hurts.\nWhy does Zo'", "Why"),
        (r"input_value='it hurts.\nheart'", "heart"),
    ],
)
def test_no_key_no_credentials_and_no_words_of_the_request(message, secret):
    shown = reason(message)
    assert secret not in shown
    assert "\u2026" in shown


def test_it_is_one_short_line():
    shown = reason("a\n\x1b[31mb\u202ec " + "very long reason " * 100)
    assert shown.startswith("a [31mb c very long")
    assert len(shown) == LONGEST_REASON
    assert reason("") == ""


@given(st.text(max_size=300))
def test_a_prompt_that_is_quoted_whole_is_never_shown(prompt):
    shown = reason(f"this input is bad: {prompt}", sent=prompt, key="")
    words = {word for word in prompt.casefold().split() if len(word) > 3 and word.isalnum()}
    assert not words & set(shown.casefold().split()) - {"this", "input"} - _PLAIN
