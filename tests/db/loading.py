"""Corpora for tests: short ways to make, load and read back documents."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from db.corpus.corpora import Corpora, Postings
from db.corpus.documents import Documents
from db.pool import Database
from engine.corpora import Document
from engine.values import Corpus, Flag, Kind
from tests.database import fetch_rows, pool_on

START = datetime(2010, 1, 1, tzinfo=UTC)


def document(
    external_id: str,
    text: str,
    *,
    day: float = 0,
    lang: str | None = None,
    flags: Flag = Flag.NONE,
    author: str | None = None,
    reply_to: str | None = None,
    shown: str | None = None,
) -> Document:
    """A document whose digest follows from its content; `shown` differs from what is searched."""
    content = repr((external_id, text, day, lang, int(flags), author, reply_to, shown))
    digest = hashlib.blake2b(content.encode(errors="surrogatepass"), digest_size=8).digest()
    return Document(
        external_id=external_id,
        text=text if shown is None else shown,
        search_text=text,
        created_at=START + timedelta(days=day),
        digest=int.from_bytes(digest, signed=True),
        lang=lang,
        flags=flags,
        author=author,
        reply_to=reply_to,
    )


async def new_corpus(
    database: Database, name: str = "c", language: str = "simple", kind: Kind = Kind.TWEETS
) -> Corpus:
    """Create a corpus."""
    return await Corpora(database).ensure(name, kind=kind, language=language, author=None)


async def load_at(
    url: str, name: str, documents: Sequence[Document], language: str = "simple"
) -> None:
    """Fill a corpus of the database at a URL."""
    async with pool_on(url) as database:
        await load(database, name, documents, language)


async def load(
    database: Database,
    name: str,
    documents: Sequence[Document],
    language: str = "simple",
    kind: Kind = Kind.TWEETS,
) -> Corpus:
    """Store documents in the corpus `name`, new or not, and return it with its figures."""
    corpus = await new_corpus(database, name, language, kind)
    await Documents(database).upsert(corpus, documents)
    return await Corpora(database).get(name)


async def load_texts(
    database: Database, name: str, texts: Sequence[str], language: str = "simple"
) -> Corpus:
    """Store texts, one a day, with their index as external id."""
    documents = [document(str(i), text, day=i) for i, text in enumerate(texts)]
    return await load(database, name, documents, language)


@dataclass(frozen=True)
class Stored:
    """A document as the database holds it, with its lexemes and how often it says each."""

    id: int
    external_id: str
    created_at: datetime | None
    flags: int
    length: int
    max_tf: int
    language: str
    frequencies: Mapping[str, int]


async def read_back(database: Database, corpus: Corpus) -> list[Stored]:
    """Return every document of the corpus; the lexemes come from the index column itself."""
    async with database.connection() as connection:
        rows = await connection.fetch(
            "SELECT id, external_id, created_at, flags, length, max_tf, language,"
            " (SELECT coalesce(array_agg(lexeme), '{}') FROM unnest(tsv)) AS lexemes,"
            " (SELECT coalesce(array_agg(cardinality(positions)), '{}') FROM unnest(tsv)) AS tf"
            " FROM document WHERE corpus_id = $1 ORDER BY id",
            corpus.id,
        )
    return [
        Stored(
            id=row["id"],
            external_id=row["external_id"],
            created_at=row["created_at"],
            flags=row["flags"],
            length=row["length"],
            max_tf=row["max_tf"],
            language=row["language"],
            frequencies=dict(zip(row["lexemes"], row["tf"], strict=True)),
        )
        for row in rows
    ]


@dataclass(frozen=True)
class Statistics:
    """What BM25 takes from a corpus."""

    documents: int
    tokens: int
    empty: int
    document_frequencies: Mapping[str, int]
    languages: Mapping[str, int]


async def recounted(database: Database, corpus: Corpus) -> Statistics:
    """Count anew from the documents."""
    stored = await read_back(database, corpus)
    return Statistics(
        documents=len(stored),
        tokens=sum(sum(s.frequencies.values()) for s in stored),
        empty=sum(not s.frequencies for s in stored),
        document_frequencies=Counter(name for s in stored for name in s.frequencies),
        languages=Counter(s.language for s in stored),
    )


async def kept(database: Database, corpus: Corpus) -> Statistics:
    """Read the statistics that the database keeps."""
    async with database.connection() as connection:
        row = await connection.fetchrow("SELECT * FROM corpus WHERE id = $1", corpus.id)
        lexemes = await connection.fetch(
            "SELECT lexeme, document_frequency FROM lexeme"
            " WHERE corpus_id = $1 AND document_frequency <> 0",
            corpus.id,
        )
        languages = await connection.fetch(
            "SELECT language, documents FROM corpus_language WHERE corpus_id = $1", corpus.id
        )
    assert row
    return Statistics(
        documents=row["documents"],
        tokens=row["tokens"],
        empty=row["empty"],
        document_frequencies=dict(map(tuple, lexemes)),
        languages=dict(map(tuple, languages)),
    )


async def assert_exact(database: Database, corpus: Corpus) -> None:
    """Compare the kept statistics with a recount, and each row's own figures with its lexemes."""
    assert await kept(database, corpus) == await recounted(database, corpus)
    highest: Counter[str] = Counter()
    for stored in await read_back(database, corpus):
        assert stored.length == sum(stored.frequencies.values())
        assert stored.max_tf == max(stored.frequencies.values(), default=0)
        highest |= Counter(stored.frequencies)
    assert not await Postings(database).count_differences(corpus)
    rows = await fetch_rows(
        database, "SELECT lexeme, max_tf FROM lexeme WHERE corpus_id = $1", corpus.id
    )
    bounds = dict(map(tuple, rows))
    assert all(bounds[lexeme] >= tf for lexeme, tf in highest.items())
