"""Language codes of sources choose the server's text-search languages."""

import pytest

from db.corpus.corpora import Corpora, add_languages, language_of, names_of
from db.pool import Database
from engine.errors import UsageError
from engine.values import Kind
from tests.db.loading import load_texts

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


def test_a_code_without_a_language_keeps_the_default() -> None:
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


async def lexemes(database: Database, words: str) -> str:
    async with database.connection() as connection:
        return str(await connection.fetchval("SELECT to_lexemes('danish', $1)", words))


async def test_a_language_missing_from_an_older_server_is_added(
    database: Database,
) -> None:
    """They came from an older server. Stop words, accents and endings are as ever."""
    words = "Der var engang en bryggeri, bryggerier og blåbærgrøden"
    before = await lexemes(database, words)
    assert await add_languages(database) == []
    async with database.connection() as connection:
        await connection.execute(
            "DROP TEXT SEARCH CONFIGURATION presagio_danish;"
            "DROP TEXT SEARCH DICTIONARY presagio_danish_stop"
        )
    with pytest.raises(UsageError, match="no text-search language 'danish'"):
        await Corpora(database).ensure(
            "d", kind=Kind.TWEETS, language="danish", author=None, url_template=None
        )
    assert await add_languages(database) == ["danish"]
    assert await add_languages(database) == []
    assert await lexemes(database, words) == before
    corpus = await load_texts(database, "d", [words], "danish")
    assert corpus.languages == ("danish",)
