"""Language codes of sources choose the server's text-search languages."""

import pytest

from db.corpus.languages import language_of, names_of

KNOWN = ("danish", "english", "simple", "spanish")


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("en", "english"),
        ("ES", "spanish"),
        ("es-419", "spanish"),
        ("en_GB", "english"),
        ("da", "danish"),
        (None, "simple"),
        ("", "simple"),
        ("und", "simple"),  # what Twitter says of texts without words
        ("qme", "simple"),
        ("xx", "simple"),
        ("ja", "simple"),  # the server has no dictionary for it
        ("fr", "simple"),  # this server has none
        ("english", "simple"),  # a name is no code
        ("-", "simple"),
    ],
)
def test_a_code_chooses_the_language(code: str | None, language: str) -> None:
    assert language_of(code, "simple", KNOWN) == language


def test_the_default_stands_even_where_it_is_unusual() -> None:
    assert language_of("ja", "spanish", KNOWN) == "spanish"


@pytest.mark.parametrize(
    ("language", "names"),
    [
        ("es", {"es", "spanish"}),
        ("spanish", {"es", "spanish"}),
        ("ja", {"ja"}),
        ("simple", {"simple"}),
    ],
)
def test_a_language_is_known_by_its_code_and_by_its_name(language: str, names: set[str]) -> None:
    assert names_of(language) == names
