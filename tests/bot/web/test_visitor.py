"""Languages and links of the page."""

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


def visitor(chosen: str | None = None) -> Visitor:
    return Visitor(
        words=words_for(chosen),
        chosen=chosen,
        path="/search",
        query=(("q", "a & b"), ("lang", "en")),
    )


def test_links_keep_a_language_that_was_chosen() -> None:
    assert visitor("es").link("/corpora") == "/corpora?lang=es"
    assert visitor("es").link("/prophecy", headline="a & b", corpus="") == (
        "/prophecy?headline=a+%26+b&lang=es"
    )
    assert visitor().link("/corpora") == "/corpora"


def test_in_language_links_to_the_same_page() -> None:
    assert visitor().in_language("es") == "/search?q=a+%26+b&lang=es"
