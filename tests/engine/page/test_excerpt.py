"""What is cut out of a page is little, however much there is."""

import pytest

from engine.page.metadata import read_page_excerpt


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
        f"<html {'x ' * 500_000}>",
        f"<meta name=date {'x ' * 500_000}>",
        f"<script type=application/ld+json>{' ' * 1_000_000}</script>",
    ],
)
def test_a_large_page_gives_a_small_excerpt(page: str) -> None:
    kept = read_page_excerpt(page)
    assert len(kept.markup) < 15_000
    assert kept.json_ld == ()


def test_the_walk_ends_after_very_many_tags() -> None:
    assert read_page_excerpt("<time>" * 4000 + "<title>T</title>").markup == "<title>T</title>"
    assert read_page_excerpt("<time>" * 6000 + "<title>T</title>").markup == ""
