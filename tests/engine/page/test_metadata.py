"""What a page says about itself is found where sites write it, and no page can do harm."""

import unicodedata
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.page.metadata import (
    Page,
    decode_page,
    find_articles,
    list_texts_under,
    read_page,
    read_page_excerpt,
)
from tests.patterns import grows_faster, needs_timer

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def read(markup: str) -> Page:
    return read_page(markup.encode(), "text/html", now=NOW)


SOURCES = (
    '<meta property="og:title" content="one">',
    '<meta name="twitter:title" content="two">',
    '<script type="application/ld+json">{"@type": "Article", "headline": "three"}</script>',
    "<title>four</title>",
    "<body><h1>five</h1>",
)


@pytest.mark.parametrize("absent", range(5))
def test_title_sources_have_a_fixed_priority(absent: int) -> None:
    present = "".join(reversed(SOURCES[absent:]))
    assert read(present).title == ["one", "two", "three", "four", "five"][absent]


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("<meta content='A' property=og:title>", "A"),
        ('<meta name="og:title" content="A">', "A"),
        ('<meta property="og:title" content="">' * 2 + "<title>A</title>", "A"),
        (
            '<meta property="og:title" content="first"><meta property="og:title" content="2">',
            "first",
        ),
        ('<meta property="og:title" content="a > b <c>">', "a > b <c>"),
        ('<meta property="og:title" content="AT&amp;amp;T &amp;#8217;"', None),
        ('<meta property="og:title" content="AT&amp;amp;T&amp;#8217;s">', "AT&T’s"),
        ("<title>a\0b\x1b[31m\u009bc\n\n d</title>", "a\ufffdb [31m c d"),
        ("<title>no end, then text", None),
        ("<title>A</title >", "A"),
        ("<h1><span>Two</span> <b>parts</b></h1>", "Two parts"),
        ("<h1></h1><h1><img alt='x'></h1><h1>Third</h1>", "Third"),
        ("<template><h1>no</h1></template><textarea><h1>no</h1></textarea><h1>yes</h1>", "yes"),
        ("<!-- > <title>no</title> --><title>yes</title>", "yes"),
        ("<style><title>no</title></style><title>yes</title>", "yes"),
        ("<script>'</scripty><title>no</title>'</script><title>yes</title>", "yes"),
        ("<meta name='broken ><title>yes</title>", "yes"),
    ],
)
def test_common_forms_of_titles_are_read(markup: str, title: str | None) -> None:
    assert read(markup).title == title


PUBLISHED = datetime(2012, 3, 14, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "markup",
    [
        '<meta property="article:published_time" content="2012-03-14T10:30:00Z">',
        '<meta property="og:published_time" content="2012-03-14T10:30:00.000+00:00">',
        '<meta name="date" content="2012-03-14 07:30:00 -0300">',
        '<meta name="DC.date.issued" content="2012-03-14T10:30:00+0000">',
        '<meta name="parsely-pub-date" content="2012-03-14T10:30:00">',
        '<meta itemprop="datePublished" content="Wed, 14 Mar 2012 10:30:00 GMT">',
        '<meta name="pubdate" content=" 2012-03-14T10:30 ">',
        "<article><header><time datetime='2012-03-14T11:30+01:00'>x</time></header></article>",
        '<script type="application/ld+json">[{"@type": "BlogPosting",'
        ' "datePublished": "2012-03-14T10:30:00Z"}]</script>',
        # Of what cannot be used, the next is taken.
        '<meta property="article:published_time" content="yesterday">'
        '<meta name="date" content="2012-03-14T10:30:00Z">',
        '<meta property="article:published_time" content="1970-01-01T00:00:00Z">'
        '<meta name="date" content="2012-03-14T10:30:00Z">',
    ],
)
def test_common_forms_of_dates_are_read(markup: str) -> None:
    assert read(markup).published == PUBLISHED


@pytest.mark.parametrize(
    "date",
    [
        "",
        "14/03/2012",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "1970-01-01T00:00:00Z",
        "1969-12-31T21:00:00-03:00",
        "2026-11-23",
        "2012-02-30",
        "Wed, 99 Mar 2012 10:30:00 GMT",
        "9" * 5000,
        "\ud800",
    ],
)
def test_an_impossible_date_is_ignored(date: str) -> None:
    content = date.encode("utf-8", "surrogatepass")
    body = b'<article><time datetime="' + content + b'"></time></article>'
    assert read_page(body, None, now=NOW).published is None


@pytest.mark.parametrize("ahead", [timedelta(hours=9), timedelta(hours=23)])
def test_a_zoneless_time_in_the_near_future_becomes_now(ahead: timedelta) -> None:
    """The clock of Tokyo, written without its zone, reads as nine hours ahead."""
    date = (NOW + ahead).replace(tzinfo=None).isoformat()
    assert read(f'<meta name="date" content="{date}">').published == NOW


@pytest.mark.parametrize(
    ("markup", "language"),
    [
        ("<html lang=es-419>", "es"),
        ("<html lang='EN'>", "en"),
        ("<html lang='{{lang}}'><meta property=og:locale content=es_ES>", "es"),
        ("<html lang=english>", None),
        ('<script type=application/ld+json>{"@type":"Article","inLanguage":"fr"}</script>', "fr"),
    ],
)
def test_the_language_is_a_short_code(markup: str, language: str | None) -> None:
    assert read(markup).language == language


# 2 MB each. A parser that builds a tree takes from seconds to minutes for most of them.
_SIZE = 2_000_000
BOMBS = {
    "nested divs": b"<div>",
    "open formatting": b"<b><p>",
    "misnested": b"<font><font></p>",
    "unclosed comments": b"<!--",
    "unclosed titles": b"<title>",
    "unclosed headings": b"<h1>",
    "unclosed scripts": b"<script type=application/ld+json>",
    "unended tags": b"<meta ",
    "unended quotes": b'<meta date="',
    "many metas": b'<meta property="og:title" content="">',
    "many scripts": b'<script type="application/ld+json">[[[[</script>',
    "brackets": b"<",
    "entities": b"&amp;",
    "articles": b"<article><time datetime=x>",
    "NUL": b"\0",
}


@needs_timer
@pytest.mark.parametrize("piece", BOMBS.values(), ids=BOMBS)
def test_read_page_takes_linear_time_on_hostile_markup(piece: bytes) -> None:
    def use(body: bytes) -> None:
        read_page(body, "text/html", now=NOW)

    assert not grows_faster(lambda size: piece * (size // len(piece)), use, _SIZE)


@needs_timer
@pytest.mark.parametrize("ending", [b"</div>", b"</b>"])
def test_read_page_takes_linear_time_on_attributes_and_misnested_tags(ending: bytes) -> None:
    def make(times: int) -> bytes:
        attributes = b" ".join(b"a%d=1" % number for number in range(times))
        head = b"<title>T</title><meta " + attributes
        return head + b"><b>" + b"<div>" * times + ending * times

    def use(body: bytes) -> None:
        assert read_page(body, None, now=NOW).title == "T"

    assert not grows_faster(make, use, 100_000)


_PIECES = st.sampled_from(
    [
        *(source for source in SOURCES),
        "<html lang=es>",
        "<article><time datetime='2012-03-14'>",
        '<script type="application/ld+json">',
        '{"@type": ["NewsArticle"], "headline": ',
        '"a\\ud800b"',
        "[]",
        "}",
        "</script>",
        "<!--",
        "-->",
        "<title",
        "</title>",
        "<meta content='",
        '"',
        ">",
        "&#xd800;",
        "&#0;",
        "\0",
        "\ud800",
    ]
)


@given(
    st.lists(st.one_of(_PIECES, st.text(max_size=10)), max_size=30),
    st.binary(),
    st.none() | st.text(),
)
def test_any_page_is_read_into_values_that_can_be_stored(
    pieces: list[str], rest: bytes, content_type: str | None
) -> None:
    body = "".join(pieces).encode("utf-8", "surrogatepass") + rest
    page = read_page(body, content_type, now=NOW)
    for text in (page.title, page.site, page.language):
        assert text is None or (text.strip() == text != "" and text.encode())
        assert not any(unicodedata.category(one) == "Cc" for one in text or "")
    assert page.published is None or page.published <= NOW


@pytest.mark.parametrize(
    ("meta", "published", "modified"),
    [
        ('<meta property="article:modified_time" content="2014-05-04">', None, 2014),
        ('<meta name="dcterms.modified" content="2014-05-04">', None, 2014),
        ('<meta itemprop="dateModified" content="2014-05-04">', None, 2014),
        (
            '<meta property="article:published_time" content="2001-05-04">'
            '<meta property="og:updated_time" content="2014-05-04">',
            2001,
            2014,
        ),
        ("", None, None),
    ],
)
def test_publication_and_modification_dates_are_distinguished(
    meta: str, published: int | None, modified: int | None
) -> None:
    found = read(f"<html><head>{meta}<title>A</title></head><body>B</body></html>")
    assert (found.published and found.published.year) == published
    assert (found.modified and found.modified.year) == modified


TEXT = "La Nación, «señal»"
LATIN = TEXT.encode("cp1252")


def declared(name: str) -> bytes:
    return f'<meta charset="{name}">'.encode()


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (TEXT.encode(), None),
        (TEXT.encode(), "text/html; charset=iso-8859-1"),  # a server that calls everything so
        (TEXT.encode(), "text/html; charset=nonsense"),
        (LATIN, "text/html; charset=ISO-8859-1"),
        (LATIN, "text/html;charset='windows-1252'"),
        (LATIN, 'text/html; charset = "latin1" '),
        (b"\xef\xbb\xbf" + TEXT.encode(), "text/html; charset=latin-1"),
        (TEXT.encode("utf-16"), None),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "text/html; charset=utf-8"),
    ],
)
def test_text_is_decoded_by_any_declared_encoding(body: bytes, content_type: str | None) -> None:
    assert decode_page(body, content_type) == TEXT


@pytest.mark.parametrize("name", ["iso-8859-1", "windows-1252", "us-ascii", "ISO_8859-1", "latin1"])
def test_the_page_may_declare_its_encoding(name: str) -> None:
    assert decode_page(declared(name) + LATIN, "text/html").endswith(TEXT)
    old = f'<meta http-equiv="Content-Type" content="text/html; charset={name}">'.encode()
    assert decode_page(old + LATIN, None).endswith(TEXT)


@pytest.mark.parametrize(
    "name", ["utf-7", "punycode", "idna", "unicode_escape", "zip", "rot13", "x"]
)
def test_encodings_unsuitable_for_pages_are_ignored(name: str) -> None:
    body = declared(name) + b"\xff\\u0041+AEE-"
    assert decode_page(body, f"text/html; charset={name}").endswith("\ufffd\\u0041+AEE-")


def test_only_informative_tags_are_kept() -> None:
    kept = read_page_excerpt(
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>T</title>"
        "<meta property=og:title content=O><script>x</script><link rel=x></head><body class=x>"
        "<time>1</time><article><time datetime=2>2</time><time>3</time><p>text<h1>H</h1>"
        '<script type="application/ld+json">{}</script></article></body></html>'
    )
    assert kept.markup == (
        "<html lang=en><meta property=og:title content=O><title>T</title><time datetime=2>"
        "<h1>H</h1>"
    )
    assert kept.json_ld == ("{}",)


@pytest.mark.parametrize(
    "page",
    [
        "<meta property=og:title content=x>" * 50_000,
        f"<title>{'x' * 1_000_000}</title>",
        f"<h1>{'<b>' * 300_000}</h1>" * 2,
        f"<meta name=date {'x ' * 500_000}>",
        f"<script type=application/ld+json>{' ' * 1_000_000}</script>",
    ],
)
def test_a_large_page_gives_a_small_excerpt(page: str) -> None:
    kept = read_page_excerpt(page)
    assert len(kept.markup) < 15_000
    assert kept.json_ld == ()


def headlines(*texts: str) -> list[str]:
    return list(list_texts_under(find_articles(texts), "headline"))


@pytest.mark.parametrize(
    "text",
    [
        '{"@type": "NewsArticle", "headline": "A"}',
        '[{"@type": "WebSite", "headline": "no"}, {"@type": "Article", "headline": "A"}]',
        '{"@graph": [{"@type": ["Thing", "OpinionNewsArticle"], "headline": "A"}]}',
        '{"@type": "WebPage", "mainEntity": {"@type": "LiveBlogPosting", "headline": "A"}}',
        '{"@type": "Article", "headline": ["A", "B"]}',
        '{"@type": "Article", "headline": "A",}',
        '{"@type": "Article", "x": "line\nbreak\tand \x01", "headline": "A"}',
        "{&quot;@type&quot;: &quot;Article&quot;, &quot;headline&quot;: &quot;A&quot;}",
        '\n<!--\n{"@type": "Article", "headline": "A"}\n-->\n',
        '//<![CDATA[\n{"@type": "Article", "headline": "A"}\n//]]>',
        '/*<![CDATA[*/{"@type": "Article", "headline": "A"}/*]]>*/',
        '\ufeff{"@type": "Article", "headline": "A"}',
    ],
)
def test_the_headline_is_found(text: str) -> None:
    assert headlines(text) == ["A"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '"headline"',
        "[" * 100_000,
        '{"@type": 7, "headline": "A"}',
        '{"@type": "Article", "headline": {"@value": "A"}}',
        '{"@type": "Article", "headline": []}',
        '{"@type": "Person", "headline": "A"}',
        '{"@type": "Article", "headline": ' + "9" * 5000 + "}",
    ],
)
def test_json_ld_without_an_article_yields_nothing(text: str) -> None:
    assert headlines(text) == []
