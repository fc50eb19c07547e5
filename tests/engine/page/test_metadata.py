"""What a page says about itself is found where sites write it, and no page can do harm."""

import unicodedata
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.page import Page, read_page
from tests.fakes.articles import ARGENTINE, BLOG, BRITISH
from tests.patterns import grows_faster, needs_timer

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def read(markup: str) -> Page:
    return read_page(markup.encode(), "text/html", now=NOW)


def stated(page: Page) -> Page:
    """Return what is said once and for all: not each title, nor the text."""
    return Page(
        title=page.title,
        published=page.published,
        modified=page.modified,
        site=page.site,
        language=page.language,
    )


def test_metadata_of_a_british_article_is_read() -> None:
    assert stated(read(BRITISH)) == Page(
        title="Ministers to scrap the Wexcombe tunnel & its 'ghost station'",
        published=datetime(2019, 11, 5, 6, 30, 12, tzinfo=UTC),
        modified=datetime(2019, 11, 6, 1, 0, tzinfo=UTC),
        site="ABC News Online",
        language="en",
    )


def test_metadata_of_an_argentine_article_is_read() -> None:
    assert stated(read(ARGENTINE)) == Page(
        title='Murió el "padre" del semáforo: tenía 98 años',
        published=datetime(2016, 3, 14, 21, 5, tzinfo=UTC),
        modified=datetime(2016, 3, 15, 12, 0, tzinfo=UTC),
        site="La Gaceta del Plata",
        language="es",
    )


def test_a_blog_without_metadata_still_yields_title_and_date() -> None:
    assert stated(read(BLOG)) == Page(
        title="The bridge will fall — A quiet blog",
        published=datetime(2011, 6, 2, 21, 14, tzinfo=UTC),
        site=None,
        language=None,
    )


def test_an_empty_page_says_nothing() -> None:
    nothing = Page(title=None, published=None, site=None, language=None)
    assert read("") == read("<html lang=''><title> \n</title>") == nothing


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
        ("<META PROPERTY='OG:Title' CONTENT='A'>", "A"),
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
        ("<TITLE lang=es>A</TITLE>", "A"),
        ("<h1><span>Two</span> <b>parts</b></h1>", "Two parts"),
        ("<h1></h1><h1><img alt='x'></h1><h1>Third</h1>", "Third"),
        ("<template><h1>no</h1></template><textarea><h1>no</h1></textarea><h1>yes</h1>", "yes"),
        ("<!-- > <title>no</title> --><title>yes</title>", "yes"),
        ("<style><title>no</title></style><title>yes</title>", "yes"),
        ("<script>'</scripty><title>no</title>'</script><title>yes</title>", "yes"),
        ("<meta name='broken ><title>yes</title>", "yes"),
        ("<titles>no</titles><title>yes</title>", "yes"),
    ],
)
def test_common_forms_of_titles_are_read(markup: str, title: str | None) -> None:
    assert read(markup).title == title


def test_a_title_is_cut_to_a_readable_length() -> None:
    title = read(f"<title>{'long ' * 100_000}</title>").title
    assert title is not None
    assert 500 < len(title) <= 1000


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


def test_a_day_without_a_time_is_its_midnight_in_utc() -> None:
    page = read('<meta name="date" content="2012-03-14">')
    assert page.published == datetime(2012, 3, 14, tzinfo=UTC)


@pytest.mark.parametrize(
    "date",
    [
        "",
        "14/03/2012",
        "March 14",
        "0001-01-01T00:00:00",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "1970-01-01T00:00:00Z",
        "1969-12-31T21:00:00-03:00",
        "1799-12-31",
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


def test_only_times_inside_the_article_count() -> None:
    page = read("<nav><time datetime='2001-01-01'></time></nav><article></article>")
    assert page.published is None


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


@given(st.lists(st.one_of(_PIECES, st.text(max_size=10)), max_size=30), st.binary(max_size=5))
def test_any_page_is_read_into_values_that_can_be_stored(pieces: list[str], rest: bytes) -> None:
    body = "".join(pieces).encode("utf-8", "surrogatepass") + rest
    page = read_page(body, None, now=NOW)
    for text in (page.title, page.site, page.language):
        assert text is None or (text.strip() == text != "" and text.encode())
        assert not any(unicodedata.category(one) == "Cc" for one in text or "")
    assert page.published is None or page.published <= NOW


@given(st.binary(), st.one_of(st.none(), st.text()))
def test_any_bytes_and_content_type_are_read_without_an_error(
    body: bytes, content_type: str | None
) -> None:
    page = read_page(body, content_type, now=NOW)
    assert page.title is None or page.title.strip()
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
