"""A reason as it may be shown: short, plain, and leading nowhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.judge.answer import LONGEST, MAX_WORDS, plain_reason


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("He promised it in 2012.", "He promised it in 2012."),
        ("  two\nlines\tand\x00more ", "two lines and more"),
        ("see https://evil.example/a?b=c now", "see now"),
        ("see evil.example/a or www.evil.example or t.me/joinchat", "see or or"),
        ("see evil.рф or evil。example/a or пример.испытание", "see or or"),
        (
            "he said it, type /forget or ＠someone or //stop",
            "he said it, type forget or or stop",
        ),
        ("write /for*get now or ev`il.`рф", "write for get now or ev il. рф"),
        ("mailto:you@evil.example writes", "writes"),
        ("ask @someone and <@U123> and <!channel>", "ask and and"),
        ("the U.S. pays 3.5 % more", "the U.S. pays 3.5 % more"),
        ("<b>bold</b> [link](x) *loud* `code` #tag", "b bold b link (x) loud code tag"),
        ("turned \u202eround\u2066 and\u200b hidden", "turned round and hidden"),
        ("fits\U000e0069\U000e0067\U000e0100 well", "fits well"),
        (" ".join("abcdefghijklmnop"), "a b c d e f g h i j k l m n…"),
        ("x" * 500, None),
        ("... 12 !", None),
        ("", None),
        (7, None),
        (None, None),
        (["he said so"], None),
    ],
)
def test_a_reason_is_reduced_to_plain_text(said: object, shown: str | None) -> None:
    assert plain_reason(said) == shown


@given(
    st.text()
    | st.lists(st.sampled_from(["word", "@x", "a.com", "https://b.org", "<i>"])).map(" ".join)
)
def test_a_reason_is_one_short_line_without_links(text: str) -> None:
    shown = plain_reason(text)
    if shown is None:
        return
    assert len(shown) <= LONGEST + 1
    assert len(shown.split()) <= MAX_WORDS
    assert len(shown.splitlines()) == 1
    assert "://" not in shown
    assert not any(sign in shown for sign in "<>@[]`*\n")
