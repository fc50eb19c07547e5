"""Languages and links of the page."""

import pytest

from bot.web.visitor import choose_language


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
