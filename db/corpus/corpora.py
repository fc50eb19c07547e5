"""Stores the named corpora."""

import re
from collections.abc import Collection
from datetime import datetime

import asyncpg

from db.connection import Connection, statements
from db.corpus.postings import (
    about_corpus,
    create_postings,
    has_postings,
    partition,
    postings_table,
)
from db.pool import Database
from engine.corpora import ALL, USUAL, corpus_named, role_of_new
from engine.errors import CorpusConflict, CorpusNotFound, UsageError
from engine.messages import Message
from engine.values import Corpus, CorpusRole, Kind

_LANGUAGES = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "et": "estonian", "eu": "basque", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch",
    "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian",
    "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip


def names_of(language: str) -> set[str]:
    """Return the code and the text-search language of a language given as either."""
    same = {pair for pair in _LANGUAGES.items() if language in pair}
    return {language, *(name for pair in same for name in pair)}


def language_of(code: str | None, default: str, known: Collection[str]) -> str:
    """Return the text-search language for a document's own `code`.

    Codes are cut to their first part ("pt-BR" is "pt"); a language that the server does not support
    falls back to the corpus' `default`.
    """
    name = _LANGUAGES.get((code or "").split("-")[0].split("_")[0].lower(), default)
    return name if name in known else default


async def add_languages(database: Database) -> list[str]:
    """Make languages usable that the server knows and the database does not; return their names.

    A newer server has them, whose tables came from an older one. Texts that were stored before
    remain indexed as they are. Raises StorageError.
    """
    async with database.transaction() as connection:
        await connection.execute(statements("corpora")["lock_languages"])
        return list(await connection.fetchval(statements("corpora")["add_languages"]))


_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class Corpora:
    """Reads and writes the corpus table and creates one partition per corpus.

    Corpora of other kinds than `kinds` are invisible, both by name and in lists.
    """

    def __init__(self, database: Database, *, kinds: Collection[Kind] = frozenset(Kind)) -> None:
        self._database = database
        self._kinds = kinds
        self._sql = statements("corpora")

    async def get(self, name: str) -> Corpus:
        """Return the corpus called `name`. Raises CorpusNotFound."""
        return corpus_named(await self.list(), name)

    async def list(self) -> list[Corpus]:
        """Return all corpora, sorted by name."""
        async with self._database.read_anywhere() as reader:
            rows = await reader.fetch(self._sql["select"], None)
        return [found for row in rows if (found := _read_corpus(row)).kind in self._kinds]

    async def ensure(
        self,
        name: str,
        *,
        kind: Kind,
        language: str,
        author: str | None,
        url_template: str | None,
        description: str | None = None,
    ) -> Corpus:
        """Return the corpus, creating it if it is new. Raises CorpusConflict, UsageError."""
        if not _NAME.fullmatch(name) or name in (ALL, USUAL):
            raise UsageError(
                Message("{name!r} cannot name a corpus.", name=name),
                fix=Message(
                    "Use lower-case letters, digits, - and _, at most 63 characters; not all or"
                    " default."
                ),
            )
        async with self._database.transaction() as connection:
            known = [row[0] for row in await connection.fetch(self._sql["languages"])]
            if language not in known:
                raise UsageError(
                    Message("There is no text-search language {language!r}.", language=language),
                    fix=Message("Use one of: {known}.", known=", ".join(known)),
                )
            created = await connection.fetchval(
                self._sql["insert"],
                name,
                kind.value,
                language,
                author,
                url_template,
                role_of_new(name).value,
                description or None,
            )
            if created is not None:
                await create_partition(connection, created)
                if has_postings(kind, average_length=0):
                    await create_postings(connection, created)
            rows = await connection.fetch(self._sql["select"], name)
        self._database.note_change()
        return _require_agreement(
            corpus_named([*map(_read_corpus, rows)], name), kind=kind, language=language
        )

    async def change(
        self,
        name: str,
        *,
        author: str | None = None,
        url_template: str | None = None,
        description: str | None = None,
        display_name: str | None = None,
        avatar: bytes | None = None,
    ) -> Corpus:
        """Change the properties that may change later; None keeps one.

        An empty description, display name or avatar removes it. A display name is that of one
        person: where no author is known, it is the only one that the documents name. Raises
        CorpusNotFound.
        """
        if display_name and not author:
            author = await self._find_only_author(await self.get(name))
        async with self._database.connection() as connection:
            await connection.execute(self._sql["change"], name, author, url_template, description)
            await connection.execute(self._sql["describe"], name, display_name, avatar)
        self._database.note_change()
        return await self.get(name)

    async def _find_only_author(self, corpus: Corpus) -> str | None:
        """Return who wrote all documents that name an author, unless the corpus has an author."""
        if corpus.author:
            return None
        async with self._database.read_anywhere() as reader:
            found: str | None = await reader.fetchval(
                about_corpus("corpora", "only_author", corpus.id)
            )
        return found

    async def avatar(self, name: str) -> bytes | None:
        """Return the picture of the corpus's voice, or None."""
        async with self._database.read_anywhere() as reader:
            found: bytes | None = await reader.fetchval(self._sql["avatar"], name)
        return found

    async def drop(self, name: str) -> int:
        """Remove the corpus and return how many documents it had. Raises CorpusNotFound."""
        await self.get(name)
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["lock"], name)
            if row is None:
                raise CorpusNotFound(Message("There is no corpus {name!r}.", name=name))
            await connection.execute(f"DROP TABLE {partition(row['id'])}")
            await connection.execute(f"DROP TABLE IF EXISTS {postings_table(row['id'])}")
            await connection.execute(self._sql["delete"], row["id"])
        self._database.note_change()
        return int(row["documents"])

    async def items(self, corpus: Corpus) -> int:
        """Return how many items the corpus holds in parts."""
        async with self._database.read_anywhere() as reader:
            return int(await reader.fetchval(self._sql["items"], corpus.id))

    async def span(self, corpus: Corpus) -> tuple[datetime | None, datetime | None]:
        """Return the dates of the oldest and the newest document."""
        async with self._database.read_anywhere() as reader:
            row = await reader.fetchrow(about_corpus("corpora", "span", corpus.id))
        return (row["oldest"], row["newest"]) if row else (None, None)

    async def names_authors(self, corpus: Corpus) -> bool:
        """Return whether any document names its author."""
        async with self._database.read_anywhere() as reader:
            statement = about_corpus("corpora", "names_authors", corpus.id)
            return bool(await reader.fetchval(statement))


async def create_partition(connection: Connection, corpus_id: int) -> None:
    """Create the table of a corpus' documents."""
    # Created separately and then attached: unlike PARTITION OF, this never waits for searches.
    table = partition(corpus_id)
    await connection.execute(
        f"CREATE TABLE {table} (LIKE document INCLUDING ALL EXCLUDING IDENTITY,"
        f" CHECK (corpus_id = {int(corpus_id)}));"
        f"ALTER TABLE document ATTACH PARTITION {table} FOR VALUES IN ({int(corpus_id)})"
    )


def _read_corpus(row: asyncpg.Record) -> Corpus:
    columns = dict(row)
    columns["kind"] = Kind(columns["kind"])
    columns["role"] = CorpusRole(columns["role"])
    columns["languages"] = tuple(columns["languages"])
    return Corpus(**columns)


def _require_agreement(corpus: Corpus, *, kind: Kind, language: str) -> Corpus:
    if corpus.kind is kind and corpus.language == language:
        return corpus
    raise CorpusConflict(
        Message(
            "Corpus {name!r} already holds {kind} in {language}.",
            name=corpus.name,
            kind=corpus.kind.value,
            language=corpus.language,
        ),
        fix=Message("Choose another --corpus name, or drop that one first."),
    )
