"""What a model writes becomes text in which no platform sees a link, a name or markup."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.text.clean import without_links, without_markup

# What Telegram, Slack and browsers make a link of, and what HTML and Markdown show otherwise.
# "www." makes one at the beginning of a word alone, and no name of a host ends in a single letter:
# "www.a" is a link, "evilwww.a" is none, "evilwww.ab" is one.
LINKED = re.compile(
    r"://|\bmailto:\S|\bjavascript:\S|\btg:\S|(?<!\w)www\.\w|[@＠]\w|(?<![\w/])/[a-z]"
    r"|\w[.。．｡][^\W\d_]{2}",
    re.IGNORECASE,
)
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0041]")
PIECES = (
    *("evil", ".", "。", "com", "/", "//", ":", "http", "https://", "www.", "mailto:", "tg:", "@"),
    *("[", "]", "(", ")", "<", ">", "*", "_", "`", "~~", "&lt;", "&amp;", "&#64;", "!", "\\", "#"),
    *(" ", "\n", "\u200b", "\u202e", "\x00", "\u2028", "a", "b", "1", "ab", "script", "/start"),
)


def plain(text: str) -> str:
    return without_links(without_markup(text))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Coffee is dear.", "Coffee is dear."),
        ("See [the page](https://evil.example/x).", "See the page."),
        ("![beacon](https://evil.example/p.png?q=secret) end", "beacon end"),
        ("[a](https://evil.example/(x)) b", "a b"),
        ("<a href='https://evil.example'>here</a>", "here"),
        ("&lt;script&gt;alert(1)&lt;/script&gt; ok", "alert(1) ok"),
        ("&amp;lt;img src=x onerror=alert(1)&amp;gt; ok", "ok"),
        ("<<b>img src=x onerror=alert(1)> ok", "img src=x onerror=alert(1) ok"),
        ("<!channel> <@U123> hear", "hear"),
        ("Go to evil.example/x now", "Go to evil. example/x now"),
        ("Go to https://evil.example now", "Go to now"),
        ("Go to //evil.example now", "Go to evil. example now"),
        ("javascript:alert(1) tg://resolve?domain=x mailto:a@b.example ok", "ok"),
        ("ask @bob or bob@b.example", "ask bob or bob at b. example"),
        ("press /subscribe and/or wait", "press subscribe and/or wait"),
        ("# Title\n- **bold** and *thin*\n> `code`", "Title bold and thin code"),
        ("```html\ncode\n```", "code"),
        ("5 * 3 < 20, snake_case, 9/11, 3.5 and U.S. prices", None),
        ("ev\u200bil\u202e \x00text\u2028end", "evil text end"),
        ("evil*.com", "evil. com"),
        ("www.a evilwww.a evilwww.ab", "evilwww.a evilwww. ab"),
        ("evilhttps://www.a", ""),
    ],
)
def test_what_is_shown(written: str, shown: str | None) -> None:
    assert plain(written) == (written.replace(" < ", " ") if shown is None else shown)


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
@example("evilwww.a")
def test_nothing_that_can_be_put_together_is_a_link(written: str) -> None:
    shown = plain(written)
    assert not LINKED.search(shown), shown
    assert not UNSEEN.search(shown), shown
    assert "<" not in shown


@given(st.text())
def test_any_text_comes_out_as_one_line_that_can_be_stored(written: str) -> None:
    shown = plain(written)
    assert "\n" not in shown
    assert "\x00" not in shown
    shown.encode()


def test_what_is_too_long_is_cut() -> None:
    assert len(plain("word " * 100_000)) <= 4000
