"""What authors write, as plain values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.feeds.markup import feed_language, plain_words, web_link


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("Port &amp; harbour", "Port & harbour"),
        ("Port &amp;amp; harbour", "Port & harbour"),
        ("<b>Port</b>s &lt;i&gt;closed&lt;/i&gt;", "Ports closed"),
        ("One<br>two<p>three</p>four", "One two three four"),
        ("a < b and c > d", "a < b and c > d"),
        ("I <3 U", "I <3 U"),
        ("5 <!-- hidden --> 6", "5 6"),
        ("x<script>if (a<b) alert(1)</script>y", "x y"),
        ("x<STYLE>p{}</style >y", "x y"),
        ("  many \n\t blanks\u00a0here ", "many blanks here"),
        ("a\0b\ud800c", "abc"),
        (None, ""),
    ],
)
def test_markup_becomes_words(markup: str | None, text: str) -> None:
    assert plain_words(markup) == text


def test_long_texts_are_cut_between_words() -> None:
    assert plain_words("one two three", 9) == "one two…"
    assert len(plain_words("x" * 5000, 100)) == 100


@pytest.mark.parametrize(
    ("link", "absolute"),
    [
        ("/a?b=1", "https://e.org/a?b=1"),
        (" https://other.org/ ", "https://other.org/"),
        ("//other.org/a", "https://other.org/a"),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("https://[::1", None),
        ("https://e.org/" + "a" * 3000, None),
        ("", None),
        (None, None),
        (5, None),
    ],
)
def test_links_are_absolute_and_of_the_web(link: object, absolute: str | None) -> None:
    assert web_link(link, "https://e.org/feed") == absolute


@pytest.mark.parametrize(
    ("code", "language"),
    [("en-us", "en"), ("ES", "es"), (" pt_BR", "pt"), ("deu", None), ("", None), (None, None)],
)
def test_languages_are_two_letters(code: str | None, language: str | None) -> None:
    assert feed_language(code) == language


@given(st.text(), st.integers(min_value=2, max_value=50))
def test_plain_text_is_short_one_line_and_storable(markup: str, longest: int) -> None:
    text = plain_words(markup, longest)
    assert len(text) <= longest
    assert text == " ".join(text.split())
    assert "\0" not in text
    text.encode()
