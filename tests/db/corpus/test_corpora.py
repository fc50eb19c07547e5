"""The named corpora."""

import asyncio
import re
from dataclasses import replace
from datetime import timedelta
from importlib.resources import files
from importlib.resources.abc import Traversable

import pytest

from db.connection import about_corpus, name_partition
from db.corpus.corpora import (
    Corpora,
    add_languages,
    language_of,
    names_of,
)
from db.corpus.documents import Documents
from db.pool import Database
from db.search.lexical import LexicalIndex
from engine.errors import CorpusConflict, CorpusNotFound, UsageError
from engine.search import Filters
from engine.values import Kind
from tests.database import fetch_value
from tests.db.loading import START, document, load, load_texts, new_corpus


async def test_a_new_corpus_is_empty(database: Database) -> None:
    corpus = await Corpora(database).ensure(
        "trump", kind=Kind.TWEETS, language="english", author="ana"
    )
    assert (corpus.name, corpus.kind, corpus.language) == ("trump", Kind.TWEETS, "english")
    assert (corpus.author, corpus.url_template) == ("ana", None)
    assert (corpus.documents, corpus.tokens, corpus.languages) == (0, 0, ())
    assert corpus.average_length == 1.0
    assert await Corpora(database).get("trump") == corpus


async def test_ensuring_an_existing_corpus_returns_it(database: Database) -> None:
    first = await load_texts(database, "c", ["storm", "more storm"])
    again = await new_corpus(database, "c")
    assert again == first
    assert (again.documents, again.tokens) == (2, 3)
    assert again.average_length == 1.5


@pytest.mark.parametrize(("kind", "language"), [(Kind.LIBRARY, "simple"), (Kind.TWEETS, "english")])
async def test_another_kind_or_language_is_a_conflict(
    database: Database, kind: Kind, language: str
) -> None:
    await new_corpus(database, "c", "simple")
    with pytest.raises(CorpusConflict, match="already holds tweets in simple"):
        await new_corpus(database, "c", language, kind)


async def test_an_invalid_name_is_rejected(database: Database) -> None:
    for name in ("", "Trump", "a b", "-a", "ñ", "a" * 64, "a;drop", "a\n", "../a", "a.b"):
        with pytest.raises(UsageError, match="cannot name a corpus"):
            await new_corpus(database, name)


async def test_an_unknown_language_is_refused_and_the_known_are_listed(database: Database) -> None:
    for language in ("klingon", "", "English", "pg_catalog.english", "en"):
        with pytest.raises(UsageError, match=r"english, .*simple, spanish"):
            await new_corpus(database, "c", language)
    assert await Corpora(database).list() == []


async def test_every_command_reports_a_missing_corpus(database: Database) -> None:
    corpora = Corpora(database)
    with pytest.raises(CorpusNotFound, match="presagio ingest"):
        await corpora.get("nobody")
    await new_corpus(database, "somebody")
    with pytest.raises(CorpusNotFound, match="There are: somebody"):
        await corpora.get("nobody")
    with pytest.raises(CorpusNotFound):
        await corpora.change("nobody", author="x")
    with pytest.raises(CorpusNotFound):
        await corpora.drop("nobody")


async def test_changing_one_property_keeps_the_others(database: Database) -> None:
    corpora = Corpora(database)
    before = await new_corpus(database, "c")
    after = await corpora.change("c", author="ana")
    assert after == replace(before, author="ana")
    assert await corpora.change("c", url_template="u") == replace(after, url_template="u")


async def test_dropping_a_corpus_deletes_all_its_data_and_no_other(database: Database) -> None:
    corpora = Corpora(database)
    await load_texts(database, "one", ["storm"] * 3)
    other = await load_texts(database, "two", ["storm"])
    assert await corpora.drop("one") == 3
    assert await corpora.list() == [other]
    async with database.connection() as connection:
        for table in ("document", "lexeme", "corpus_language"):
            query = f"SELECT count(*) FROM {table} WHERE corpus_id <> $1"
            assert await connection.fetchval(query, other.id) == 0
    search = LexicalIndex(database)
    assert await search.top(other, await search.terms(other, "storm"), Filters(), 9)


async def test_the_span_is_from_the_oldest_to_the_newest(database: Database) -> None:
    corpora = Corpora(database)
    corpus = await new_corpus(database, "c")
    assert await corpora.span(corpus) == (None, None)
    await load(database, "c", [document("1", "a", day=5), document("2", "b", day=2)])
    other = await load(database, "other", [document("1", "a", day=99)])
    span, late = (START + timedelta(days=2), START + timedelta(days=5)), START + timedelta(days=99)
    assert await corpora.span(corpus) == span
    assert await corpora.spans([other, corpus]) == {corpus.id: span, other.id: (late, late)}


async def test_concurrent_creation_makes_one_corpus(database: Database) -> None:
    made = await asyncio.gather(*(new_corpus(database, "c") for _ in range(8)))
    assert len({corpus.id for corpus in made}) == 1


async def test_corpora_can_be_created_and_dropped_concurrently(database: Database) -> None:
    async def cycle(name: str) -> int:
        await load_texts(database, name, ["storm", "rain"])
        return await Corpora(database).drop(name)

    assert await asyncio.gather(*(cycle(f"c{i}") for i in range(6))) == [2] * 6
    assert await Corpora(database).list() == []


async def test_only_one_of_two_concurrent_drops_succeeds(database: Database) -> None:
    await load_texts(database, "c", ["storm"])
    corpora = Corpora(database)
    outcomes = await asyncio.gather(*(corpora.drop("c") for _ in range(2)), return_exceptions=True)
    assert sorted(map(type, outcomes), key=str) == sorted([int, CorpusNotFound], key=str)


async def test_a_corpus_dropped_while_another_writes_to_it_is_gone_or_whole(
    database: Database,
) -> None:
    corpus = await new_corpus(database, "c")
    documents, corpora = Documents(database), Corpora(database)

    async def write() -> None:
        for number in range(30):
            await documents.upsert(corpus, [document(f"{number}-{i}", "storm") for i in range(20)])

    writer = asyncio.create_task(write())
    while not (await corpora.get("c")).documents:  # noqa: ASYNC110 - the database makes it true
        await asyncio.sleep(0)
    dropped = await corpora.drop("c")
    with pytest.raises(CorpusNotFound, match="dropped meanwhile"):
        await writer
    assert dropped % 20 == 0
    async with database.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM document") == 0
        assert await connection.fetchval("SELECT count(*) FROM lexeme") == 0


async def test_corpora_of_other_kinds_are_not_there(database: Database) -> None:
    everything = Corpora(database)
    for name, kind in {"tweets": Kind.TWEETS, "chats": Kind.PERSONAL}.items():
        await new_corpus(database, name, "english", kind)
    public = Corpora(database, kinds=[Kind.TWEETS])
    assert [corpus.name for corpus in await everything.list()] == ["chats", "tweets"]
    assert [corpus.name for corpus in await public.list()] == ["tweets"]
    assert (await public.get("tweets")).kind is Kind.TWEETS
    with pytest.raises(CorpusNotFound, match=r"There is no corpus 'chats'\. There are: tweets\."):
        await public.get("chats")


async def test_a_description_is_kept_changed_and_taken_away(database: Database) -> None:
    corpora = Corpora(database)
    new = await corpora.ensure(
        "c",
        kind=Kind.TWEETS,
        language="simple",
        author=None,
        description="A mayor",
    )
    assert new.description == "A mayor"
    assert (await corpora.change("c", author="ana")).description == "A mayor"
    assert (await corpora.change("c", description="A captain")).description == "A captain"
    changed = await corpora.change("c", description="")
    assert (changed.description, changed.author) == (None, "ana")
    assert (await new_corpus(database, "d")).description is None


@pytest.mark.parametrize(
    ("authors", "known"),
    [
        *((("ana", "ana"), "ana"), (("ana", "bob"), None), (("ana", None), None)),
        ((None, None), None),
    ],
)
async def test_the_display_name_is_that_of_the_only_author(
    database: Database, authors: tuple[str | None, ...], known: str | None
) -> None:
    documents = [
        replace(document(str(number), "storm"), author=author)
        for number, author in enumerate(authors)
    ]
    await load(database, "c", documents)
    named = await Corpora(database).change("c", display_name="Ana Ruiz")
    assert (named.author, named.display_name) == (known, "Ana Ruiz")


FILES = [entry for entry in (files("db") / "sql").iterdir() if entry.name.endswith(".sql")]
_COMMENT = re.compile(r"--(?! name:).*")
# What is read only to be written is read there as well, of one corpus by its number.
_READ = re.compile(
    r"\b(?:FROM|JOIN|USING)\s+document\b"
    r"(?!\s+(?:\w\s+)?WHERE\s+(?:\w\.)?corpus_id = \{corpus\})"
)
_WRITTEN = re.compile(r"\b(?:UPDATE|DELETE FROM)\s+document\b")


def test_a_partition_is_named_only_by_a_number() -> None:
    assert name_partition(7) == "document_7"
    for name in ("7; DROP TABLE corpus", "seven", ""):
        with pytest.raises(ValueError, match="invalid literal"):
            name_partition(name)  # type: ignore[arg-type]  # what must not come through
        with pytest.raises(ValueError, match="invalid literal"):
            about_corpus("shown", "document", name)


@pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry.name)
def test_every_statement_is_restricted_to_one_corpus(entry: Traversable) -> None:
    for block in entry.read_text().split("-- name:")[1:]:
        statement = _COMMENT.sub("", block)
        written = _WRITTEN.search(statement)
        assert not written or "d.corpus_id = {corpus}" in statement, block
        assert not _READ.search(_WRITTEN.sub("", statement)), block


KNOWN = ("danish", "english", "simple", "spanish")


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("ES", "spanish"),
        ("es-419", "spanish"),
        ("en_GB", "english"),
        ("da", "danish"),
        (None, "simple"),
        ("und", "simple"),  # what Twitter says of texts without words
        ("xx", "simple"),
        ("ja", "simple"),  # the server has no dictionary for it
        ("fr", "simple"),  # this server has none
        ("english", "simple"),  # a name is no code
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
    return str(await fetch_value(database, "SELECT to_lexemes('danish', $1)", words))


async def test_a_language_missing_from_an_older_server_is_added(database: Database) -> None:
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
        await new_corpus(database, "d", "danish")
    assert await add_languages(database) == ["danish"]
    assert await add_languages(database) == []
    assert await lexemes(database, words) == before
    corpus = await load_texts(database, "d", [words], "danish")
    assert corpus.languages == ("danish",)
