"""Feeds as programs and people write them: no character, sign or element takes news away."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.feeds.feed import FeedEntry
from engine.feeds.markup import feed_language, plain_words, web_link
from engine.feeds.mending import mend_link, mend_markup
from engine.feeds.read import read_feed
from tests.engine.feeds.documents import URL, item, rss

LINK = "https://news.example.org/a/1"
DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'


def read(*items: str) -> Sequence[FeedEntry]:
    return read_feed(rss(*items), None, URL).entries


@pytest.mark.parametrize(
    "reference",
    [
        *("&#55357;&#56832;", "&#xD83D;&#xDE00;", "&#xd800;", "&#57343;", "&#x110000;", "&#0;"),
        *("&#00000;", "&#x0;", "&#11;", "&#xFFFE;", "&#65535;", "&#xFFFFFFFFFF;",),
        *(f"&#{'9' * 400};",),
        *("&amp;#55357;", "<![CDATA[&#xD83D;]]>", "&#x1F;"),
    ],
)  # fmt: skip
def test_a_reference_to_no_character_costs_itself_alone(reference: str) -> None:
    first, second = read(item(f"The pier {reference} opens"), item("Second &#8211; &#x1F600;"))
    assert (first.title, second.title) == ("The pier opens", "Second – 😀")


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("R&D at AT&T", "R&D at AT&T"),
        ("Caf&eacute;&nbsp;&mdash; open&hellip;", "Café — open…"),
        ("A &nosuch; name &", "A &nosuch; name &"),
        ("&AMP; &lt;3 &#60;3", "& <3 <3"),
        ("<![CDATA[R&D at AT&T &eacute;]]>", "R&D at AT&T é"),
    ],
)
def test_an_ampersand_that_names_nothing_is_one(written: str, title: str) -> None:
    assert [entry.title for entry in read(item(written))] == [title]


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("&lt;![CDATA[The pier opens]]&gt;", "The pier opens"),
        ("&lt;![CDATA[Rates &gt; 3%: the pier opens]]&gt;", "Rates > 3%: the pier opens"),
        ("<![CDATA[&lt;![CDATA[The pier opens]]&gt;]]>", "The pier opens"),
        ("How the &lt;video&gt; element broke", "How the <video> element broke"),
        ("Why &lt;br&gt;s and &lt;pre&gt; matter", "Why s and <pre> matter"),
        ("CSS, &amp;lt;pre&amp;gt; and more", "CSS, <pre> and more"),
        ("&lt;b&gt;The pier opens", "The pier opens"),
        ("Using List&lt;String&gt; in &lt;code&gt;Java&lt;/code&gt;", "Using List<String> in Java"),
        ("&amp;lt;i&amp;gt;The pier&amp;lt;/i&amp;gt; opens", "The pier opens"),
        ("x&lt;script&gt;a&lt;b&lt;/script&gt;y", "x y"),
        ("How &lt;script&gt; loads", "How <script> loads"),
        ("&lt;!-- note --&gt;The pier", "The pier"),
    ],
)  # fmt: skip
def test_a_title_keeps_the_tags_that_it_speaks_of(written: str, title: str) -> None:
    assert [entry.title for entry in read(item(written))] == [title]


@pytest.mark.parametrize(
    "more",
    [
        f"<dc:title {DC}>the-pier-slug</dc:title><title>The pier opens</title>",
        f"<title>The pier opens</title><dc:title {DC}>the-pier-slug</dc:title>",
        f"<dc:title {DC}>The pier opens</dc:title>",
        '<d:title xmlns:d="http://purl.org/dc/terms/">slug</d:title><title>The pier opens</title>',
    ],
)
def test_the_own_title_wins_over_that_of_dublin_core(more: str) -> None:
    assert [entry.title for entry in read(f"<item>{more}</item>")] == ["The pier opens"]


TEXTS = {
    "windows-1251": "Капитан порта ушёл",
    "windows-1255": "מנהל הנמל התפטר",
    "shift_jis": "港湾局長が辞任",
    "gb2312": "港务局长辞职",
    "euc-kr": "항만 책임자 사임",
}


@pytest.mark.parametrize(
    "before", ["", "\n\n", " \t\r\n", "<!-- cached -->", "\n<!-- one -->\n<!-- two -->\n"]
)
@pytest.mark.parametrize(("encoding", "text"), TEXTS.items())
def test_a_declared_encoding_counts_behind_blank_lines_and_comments(
    before: str, encoding: str, text: str
) -> None:
    prolog = f'{before}<?xml version="1.0" encoding="{encoding}"?>'
    body = rss(item(text), prolog=prolog).decode().encode(encoding)
    assert [entry.title for entry in read_feed(body, "application/rss+xml", URL).entries] == [text]


@pytest.mark.parametrize(
    ("written", "link"),
    [
        *((f"<link>{LINK}</link>", LINK), (f"<link>\n  {LINK}\n </link>", LINK)),
        ("<link>https://news.example.org/a/\n  1</link>", LINK),
        ("<link>https://news.example.org/a b/1</link>", "https://news.example.org/a%20b/1"),
        ("<link>www.example.org/a/1</link>", "https://www.example.org/a/1"),
        *(("<link>news.example.org/a/1</link>", LINK), ("<link>/a/1</link>", LINK)),
        ("<link>index.php/a/1</link>", "https://news.example.org/feeds/index.php/a/1"),
        *(("<link>https//news.example.org/a/1</link>", LINK),),
        *((f"<link>{it}</link>", LINK) for it in ("https:news.example.org/a/1", f'"{LINK}"')),
        *((f"<link>{LINK}\u200b</link>", LINK), (f"<link>&lt;{LINK}&gt;</link>", LINK)),
        (f"<link>&lt;a href='{LINK}'>the pier&lt;/a></link>", LINK),
        ("<guid>news.example.org/a/1</guid>", None),
        (f'<link uri="at://did:plc:abc/post/3">{LINK}</link>', LINK),
        (f'<link href="{LINK}"/>', LINK),
        (f"<link/><guid>{LINK}</guid>", LINK),
        (f'<link></link><guid isPermaLink="True">{LINK}</guid>', LINK),
        *((f'<guid isPermaLink="false">{LINK}</guid>', None), ("<guid>98765</guid>", None)),
        *(("<guid>tag:example.org,2026:1</guid>", None), ("<guid>a-b-c</guid>", None)),
        (f"<link>{LINK}</link><link>https://news.example.org/comments</link>", LINK),
        (f"<link>{LINK}?x=1&copy=2&reg=3&sect=4</link>", f"{LINK}?x=1&copy=2&reg=3&sect=4"),
        (f"<link>{LINK}?x=1&amp;amp;y=2</link>", f"{LINK}?x=1&y=2"),
        *(("<link>javascript:alert(1)</link>", None), ("<link>mailto:a@example.org</link>", None)),
    ],
)  # fmt: skip
def test_the_link_of_an_item_is_read_as_people_write_it(written: str, link: str | None) -> None:
    (entry,) = read(f"<item><title>The pier opens</title>{written}</item>")
    assert entry.link == link


@pytest.mark.parametrize(
    "fields",
    [
        r'"id": "1", "title": "The \ud83d pier opens"',
        r'"id": "\udfc6", "title": "The \udfc6pier opens"',
        '"id": "1", "title": "The\tpier opens"',
        '"id": "1", "title": "The pier opens", "_x": NaN',
    ],
)
def test_a_json_feed_survives_half_characters_and_loose_spelling(fields: str) -> None:
    body = f'{{"version": "https://jsonfeed.org/version/1.1", "items": [{{{fields}}}]}}'
    (entry,) = read_feed(body.encode(), None, URL).entries
    assert entry.title == "The pier opens"
    entry.identity.encode()


@given(st.text())
def test_mended_text_can_be_mended_again_without_a_change(text: str) -> None:
    assert mend_markup(mend_markup(text)) == mend_markup(text)
    mend_link(text)


# What authors write, as plain values


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
