"""What a model writes becomes text in which no platform sees a link, a name or markup."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.text.clean import without_links, without_markup
from tests.conftest import FEW_EXAMPLES

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


def plain(text: str, held: str = "") -> str:
    return without_links(without_markup(text), held)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("See [the page](https://evil.example/x).", "See the page."),
        ("![beacon](https://evil.example/p.png?q=secret) end", "beacon end"),
        ("[a](https://evil.example/(x)) b", "a b"),
        ("<a href='https://evil.example'>here</a>", "here"),
        ("&lt;script&gt;alert(1)&lt;/script&gt; ok", "alert(1) ok"),
        ("&amp;lt;img src=x onerror=alert(1)&amp;gt; ok", "ok"),
        ("I <b>love</b> it<br>so", "I love it so"),
        ("<!channel> <@U123> hear <https://evil.example|this> <https://evil.example>", "hear this"),
        ("Go to https://evil.example now", "Go to now"),
        ("evilhttps://www.a", ""),
        ("Go to evil.example/x now", "Go to evil. example/x now"),
        ("Go to //evil.example now", "Go to evil. example now"),
        ("javascript:alert(1) tg://resolve?domain=x mailto:a@b.example ok", "ok"),
        ("ask @bob or bob@b.example", "ask bob or bob at b. example"),
        ("press /subscribe and/or wait", "press subscribe and/or wait"),
        ("www.a evilwww.a evilwww.ab", "evilwww.a evilwww. ab"),
        ("# Title\n- **bold** and *thin*\n> `code`", "Title bold and thin code"),
        ("**all of *this* too** and ***that***", "all of this too and that"),
        ("```html\ncode\n```", "code"),
        ("~~gone~~ and _thin_", "gone and thin"),
        ("ev\u200bil\u202e \x00text\u2028end", "evil text end"),
    ],
)
def test_markup_is_removed(written: str, shown: str) -> None:
    assert plain(written) == shown


@pytest.mark.parametrize(
    "written",
    [
        "Coffee is dear.",
        "It is 2*3*4 = 24 at 5 * 3 < 20, and a <3 for it.",
        "5 > 3, x<y>z and the <b> element",
        "> 5 apples",
        "- 5 degrees",
        "snake_case, __init__, *args, **kwargs and and/or",
        "array[i](j), a[0](x) and rock `n' roll",
        "9/11, 3.5 and U.S. prices",
    ],
)
def test_words_and_signs_stay(written: str) -> None:
    assert plain(written) == written


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("“Go to debian.org/security/faq”, or (www.example.org).", None),
        ("Node.js wrote a.out to /srv.", None),
        ("He is w/@TigerWoods; ask bob@b.example!", None),
        ("See https://wiki.debian.org/a now", "See wiki.debian.org/a now"),
        ("DEBIAN.ORG/Security/FAQ", None),
        ("debian.org/security/faq2", "debian. org/security/faq2"),
        ("@TigerWoodsFan", "TigerWoodsFan"),
        ("/srv2 and a.output", "srv2 and a. output"),
    ],
)
def test_addresses_from_the_sources_are_kept_without_scheme(
    written: str, shown: str | None
) -> None:
    held = (
        "https://www.debian.org/security/faq, http://debian.org/security/faq, www.example.org,"
        " https://wiki.debian.org/a. Node.js, a.out and /srv; w/@TigerWoods bob@b.example"
    )
    assert plain(written, held) == (shown or written)


@FEW_EXAMPLES
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
@example("evilwww.a")
def test_no_output_is_recognised_as_a_link(written: str) -> None:
    shown = plain(written)
    assert not LINKED.search(shown), shown
    assert not UNSEEN.search(shown), shown


@FEW_EXAMPLES
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_even_addresses_in_the_sources_get_no_scheme(written: str) -> None:
    shown = plain(written, written)
    assert "://" not in shown
    assert not UNSEEN.search(shown), shown


@FEW_EXAMPLES
@given(st.text())
def test_any_text_becomes_one_storable_line(written: str) -> None:
    shown = plain(written)
    assert "\n" not in shown
    assert "\x00" not in shown
    shown.encode()


def test_long_text_is_cut() -> None:
    assert len(plain("word " * 100_000)) <= 4000
