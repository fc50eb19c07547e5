"""JSON-LD is read as sites really write it."""

import pytest

from engine.page.metadata import find_articles, list_texts_under


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
        '[{"@type": "Article", "headline": "A"}, ]',
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


def test_a_comma_inside_a_string_is_kept() -> None:
    assert headlines('{"@type": "Article", "headline": "a,] b,}"}') == ["a,] b,}"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "{",
        '"headline"',
        "[" * 100_000,
        '{"@type": 7, "headline": "A"}',
        '{"@type": null, "headline": "A"}',
        '{"@type": "Article", "headline": {"@value": "A"}}',
        '{"@type": "Article", "headline": []}',
        '{"@type": "Person", "headline": "A"}',
        '{"@type": "Article", "headline": ' + "9" * 5000 + "}",
    ],
)
def test_json_ld_without_an_article_yields_nothing(text: str) -> None:
    assert headlines(text) == []


def test_a_broken_text_does_not_hide_the_next() -> None:
    assert headlines("{broken", '{"@type": "Article", "headline": "A"}') == ["A"]


def test_a_walk_over_very_many_nodes_ends() -> None:
    text = "[" + '{"@type": "Article", "headline": "A"},' * 50_000 + "{}]"
    assert 0 < len(headlines(text)) <= 2000
