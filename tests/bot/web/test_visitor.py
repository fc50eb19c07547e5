"""Languages and links of the page."""

from dataclasses import replace

import pytest

from bot.i18n.words import words_for
from bot.web.visitor import Visitor, choose_language


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("es", "es"),
        ("es-AR,es;q=0.9,en;q=0.8", "es"),
        ("en-GB,en;q=0.9,es;q=0.8", "en"),
        ("fr-FR,fr;q=0.9,es;q=0.5,en;q=0.4", "es"),
        ("de", "en"),
        ("es;q=0", "en"),
        ("es;q=nonsense,,;;", "en"),
        ("*", "en"),
    ],
)
def test_the_language_is_what_the_browser_likes_best(header: str, language: str) -> None:
    assert choose_language(header) == language


def test_links_keep_the_language_that_the_address_names() -> None:
    query = (("q", "tea"), ("lang", "es"))
    visitor = Visitor(words=words_for("es"), chosen="es", path="/search", query=query)
    assert visitor.link("/", corpus=None, day="") == "/?lang=es"
    assert visitor.in_language("en") == "/search?q=tea&lang=en"
    unnamed = replace(visitor, chosen=None)
    assert (unnamed.link("/"), unnamed.link("/", q=1)) == ("/", "/?q=1")
