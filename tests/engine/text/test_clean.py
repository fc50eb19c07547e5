"""What is searched and what is shown of a text."""

import json
import re
import unicodedata
from pathlib import Path

import asyncpg
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.text.clean import (
    Form,
    camel_parts,
    clean_for_display,
    make_searchable,
    normalise_form,
    respell_search_text,
    without_links,
    without_markup,
)
from tests.conftest import FEW_EXAMPLES

# Characters that the patterns act on, so that random texts meet them often.
AWKWARD = st.text(alphabet=st.sampled_from("aAbBZ.'’&@#_-+/<>~ 0129,ñÉ…\u200bhtps:wSRT\x00"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@BetteMidler is", "BetteMidler Bette Midler is"),
        ("#NATOSummit", "NATOSummit NATO Summit"),
        ("#Trump2016 #maga", "Trump2016 Trump 2016 maga"),
        ("#NiUnaMenos #ElDíaDespués", "NiUnaMenos Ni Una Menos ElDíaDespués El Día Después"),
        ("@DRUDGE_REPORT", "DRUDGE REPORT DRUDGE REPORT"),
        ("@Rosie @nytimes @joe_b_99 @x @99 hello", "Rosie nytimes joe hello"),
        ("@nytimes's hello", "nytimes hello"),
        ("RT @nytimes: hello", "nytimes : hello"),
        ("RT is a channel", "RT is a channel"),
        ("joe@example.com", "joe example com"),
        ("U.S. and U.N., F.B.I.!", "U.S and UN , FBI !"),
        ("US-led, u.s. troops, (U.S)", "U.S -led, U.S troops, ( U.S )"),
        ("US", "U.S"),
        ("trust us. Give Us time", "trust us Give Us time"),
        ("BUT U.S. TROOPS", "BUT U.S TROOPS"),
        ("the WHO, W.H.O. and who, I.T. and it", "the W.H.O , W.H.O and who, I.T and it"),
        ("l·l", "l·l"),
        ("5 p.m. E.T., J.K.Rowling", "5 pm ET , JK Rowling"),
        ("EE.UU. y EE. UU. y FF.AA.", "EEUU y EEUU y FFAA"),
        ("St. Louis. Mr. Bean in D.C.", "St Louis Mr Bean in DC"),
        ("AT&T, S&P 500, Q&A, me&you", "ATT, SP 500, QA, me you"),
        ("and/or Obama...now Trump.Great word_word", "and or Obama now Trump Great word word"),
        ("a <b and c> d", "a b and c d"),
        ("Trump's Trump’s TRUMP'S", "Trump Trump TRUMP"),
        ("I'll they're we’ve he'd I'm", "I they we he I"),
        ("won't can’t DON'T want", "want"),
        ("O'Reilly l'ONU", "O'Reilly l'ONU"),
        ("20,000 or 20.000 or 20000", "20000 or 20000 or 20000"),
        ("1.5 and 2.75% and 3,5%", "1.5 and 2.75% and 3,5%"),
        ("2019/2023 on 11/8/2016", "2019 2023 on 11/8 2016"),
        ("COVID-19, 2016-17, F-16", "COVID 19, 2016 17, F 16"),
        ("well-known", "well-known"),
        ("see http://t.co/a https://x.org/b?c=d&e", "see"),
        ("see pic.twitter.com/a or bit.ly/b or www.c.com", "see or or"),
        ("cut at http…", "cut at"),
        ("𝕿𝖗𝖚𝖒𝖕 ﬁrst Trump™", "Trump first Trump"),
        ("a\u200bb \u202ec\ufeffd e\u0301", "ab cd é"),
        ("a\x00b\x07c\nd", "a b c d"),
        ("🇺🇸 fire🔥 👨‍💻", "🇺🇸 fire🔥 👨💻"),
        ("@a #", ""),
    ],
)
def test_search_text_is_normalised(text: str, words: str) -> None:
    assert make_searchable(text) == words


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("BetteMidler", ("Bette", "Midler")),
        ("NATOSummit", ("NATO", "Summit")),
        ("BillOReilly", ("Bill", "O", "Reilly")),
        ("iPhone7Plus", ("i", "Phone", "7", "Plus")),
        ("__a_b__", ("a", "b")),
        ("ÑandúÉpico", ("Ñandú", "Épico")),
        ("", ()),
    ],
)
def test_camel_case_compounds_are_split(word: str, parts: tuple[str, ...]) -> None:
    assert camel_parts(word) == parts


@FEW_EXAMPLES
@given(st.text() | AWKWARD)
def test_searched_text_can_be_stored_and_has_no_hidden_characters(text: str) -> None:
    words = make_searchable(text)
    words.encode()
    assert not [c for c in words if unicodedata.category(c) == "Cc" or c in "\u200b\u202e\ufeff"]
    assert unicodedata.is_normalized("NFKC", words)


@FEW_EXAMPLES
@given(st.text() | AWKWARD)
def test_search_normalisation_is_idempotent(text: str) -> None:
    assert make_searchable(make_searchable(text)) == make_searchable(text)


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@given(text=st.text(max_size=30) | st.text(alphabet="ae\u0301\u0327\uff9e\uac01ﬁ", max_size=30))
def test_a_text_with_few_marks_is_normalised_as_unicode_says(form: Form, text: str) -> None:
    assert normalise_form(form, text) == unicodedata.normalize(form, text)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a &amp; b &lt;3 &#39;c&#39;", "a & b <3 'c'"),
        ("https://x.org/?a=1&copy=2&amp;b", "https://x.org/?a=1&copy=2&b"),
        ("AT&T &nonsense; &", "AT&T &nonsense; &"),
        ("strong borders &amp, stop", "strong borders & stop"),
        ("a &amp b, 1 &lt 2 &gt 0 &amp", "a & b, 1 < 2 > 0 &"),
        ("a &amp;amp, b &amp;amp c &amp;lt, 3", "a & b & c < 3"),
        ("it&#039s, it&#8217,s &#x27,q", "it's, it’s 'q"),
        ("men &am… and women &a...", "men &… and women &..."),
        ("R&D, S&P, Q&A, B&B, GB&I &amplifier &ltd, &copy, &am", None),
        ("https://x.org/?a=1&lt=2&amp&copy=2 &lt x", "https://x.org/?a=1&lt=2&amp&copy=2 < x"),
        ("https://x.org/a,&amp, b", "https://x.org/a,& b"),
        ("#33&#34, 7&#8, &#, &;", None),
        ('"""A ""b"" c"', '"A "b" c'),
        ('"""quote"""', '"quote"'),
        ('"""a "b" c', '"a "b" c'),
        ('"@x: "@y: z"""', None),
        ("a\r\nb\rc\n", "a\nb\nc\n"),
        ("a\x00b\ud800c", "abc"),
        ("“ñ”… \u200b@x #y  ", "“ñ”… \u200b@x #y  "),
    ],
)
def test_display_text_is_cleaned(text: str, seen: str | None) -> None:
    assert clean_for_display(text) == (text if seen is None else seen)


@pytest.mark.parametrize(
    ("searched", "text", "title", "today"),
    [
        ("hello", "@nytimes hello", None, "nytimes hello"),
        (": hello", "RT @nytimes: hello", None, "nytimes : hello"),
        ("TRUST US NOW", "TRUST U.S. NOW", None, "TRUST U.S NOW"),
        ("us economy", "u.s. economy", None, "U.S economy"),
        ("a amp, b", "a &amp, b", None, "a b"),
        ("A title body", "@joe body", "A title", "A title joe body"),
        ("the text US said", "the text <a.jpg> US said", None, "the text U.S said"),
        ("", "[a picture]", None, ""),
    ],
)
def test_search_text_of_older_versions_is_respelled(
    searched: str, text: str, title: str | None, today: str
) -> None:
    assert respell_search_text(searched, text, title=title) == today


@pytest.fixture
async def parsed(database_url: str) -> "Parse":
    return Parse(database_url)


class Parse:
    """PostgreSQL's default text-search parser."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def tokens(self, texts: list[str]) -> list[tuple[str, str]]:
        """Return (kind, token) of everything in the texts that is a word to the parser."""
        connection = await asyncpg.connect(self._url)
        try:
            rows = await connection.fetch(
                "SELECT kind.alias, found.token"
                " FROM unnest($1::text[]) WITH ORDINALITY AS texts (text, number),"
                " ts_parse('default', text) AS found"
                " JOIN ts_token_type('default') AS kind USING (tokid)"
                " WHERE kind.alias <> 'blank' ORDER BY number",
                texts,
            )
        finally:
            await connection.close()
        return [(row["alias"], row["token"]) for row in rows]


GLUED = {"host", "url", "url_path", "email", "tag", "entity", "protocol", "int", "sfloat"}


async def test_the_parser_sees_words_where_it_would_see_hosts_and_files(parsed: Parse) -> None:
    texts = [
        "and/or Obama...now Trump.Great joe@x.org a<b>c /tmp/x ~/y",
        "U.S.-led COVID-19 10.000 $1,500 +5 -5 &amp; http://t.co/x",
    ]
    raw = {kind for kind, _token in await parsed.tokens(texts)}
    assert {"file", "host", "email", "int", "tag", "entity"} <= raw
    found = await parsed.tokens([make_searchable(text) for text in texts])
    assert " ".join(token for _kind, token in found) == (
        "and or Obama now Trump Great joe x org a b c tmp x y U.S led COVID 19 10000 1500 5 5 amp"
    )
    assert {kind for kind, _token in found} <= {"asciiword", "uint", "file"}
    assert [token for kind, token in found if kind == "file"] == ["U.S"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trump_archive", "argentina_2019"])
async def test_the_parser_glues_nothing_in_real_tweets(
    name: str, parsed: Parse, shared_data: Path
) -> None:
    path = shared_data / "tweets" / f"{name}.jsonl"
    with path.open(encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file][::20]
    assert GLUED & {kind for kind, _token in await parsed.tokens(texts)}
    found = await parsed.tokens([make_searchable(clean_for_display(text)) for text in texts])
    assert not [pair for pair in found if pair[0] in GLUED]
    files = {token for kind, token in found if kind == "file" and not token[0].isdigit()}
    assert files <= {"U.S", "W.H.O", "I.T"}


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
        ("<a href='https://evil.example'>here</a>", "here"),
        ("&lt;script&gt;alert(1)&lt;/script&gt; ok", "alert(1) ok"),
        ("&amp;lt;img src=x onerror=alert(1)&amp;gt; ok", "ok"),
        ("I <b>love</b> it<br>so", "I love it so"),
        ("<!channel> <@U123> hear <https://evil.example|this> <https://evil.example>", "hear this"),
        ("evilhttps://www.a", ""),
        ("Go to evil.example/x now", "Go to evil. example/x now"),
        ("Go to //evil.example now", "Go to evil. example now"),
        ("javascript:alert(1) tg://resolve?domain=x mailto:a@b.example ok", "ok"),
        ("ask @bob or bob@b.example", "ask bob or bob at b. example"),
        ("press /subscribe and/or wait", "press subscribe and/or wait"),
        ("www.a evilwww.a evilwww.ab", "evilwww.a evilwww. ab"),
        ("# Title\n- **bold** and *thin*\n> `code`", "Title bold and thin code"),
        ("**all of *this* too** and ***that***", "all of this too and that"),
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
        ("/srv2 and a.output", "srv2 and a. output"),
    ],
)
def test_addresses_of_the_sources_are_kept_without_scheme(written: str, shown: str | None) -> None:
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
@given(st.text())
def test_any_text_becomes_one_storable_line(written: str) -> None:
    shown = plain(written)
    assert "\n" not in shown
    assert "\x00" not in shown
    shown.encode()
