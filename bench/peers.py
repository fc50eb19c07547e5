"""Other search libraries over the same lexemes, each in this process.

Every lexeme is passed as a word made of its number ("t17"), so that all tokenisers see the same.
"""

import sqlite3
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import bm25s
import tantivy

from bench.lexemes import Lexemes


class Peer(Protocol):
    """One library that has indexed all documents."""

    name: str

    def top(self, tokens: Sequence[int], limit: int) -> Any:
        """Return the best documents in the library's own form; only this is timed."""

    def numbers(self, found: Any) -> list[int]:
        """Return the numbers of those documents."""


class Bm25s:
    """bm25s: impacts are precomputed, and all documents are scored at once."""

    def __init__(self, lexemes: Lexemes, backend: str) -> None:
        self.name = f"bm25s {backend}"
        self._index = bm25s.BM25(k1=1.2, b=0.75, method="lucene", backend=backend)
        tokens = [lexemes.of(number) for number in range(lexemes.documents)]
        names = {word(token): token for token in lexemes.names.values()}
        self._index.index((tokens, names), show_progress=False)

    def top(self, tokens: Sequence[int], limit: int) -> Any:
        return self._index.retrieve([list(tokens)], k=limit, show_progress=False)

    def numbers(self, found: Any) -> list[int]:
        documents, scores = found
        return [int(d) for d, score in zip(documents[0], scores[0], strict=True) if score > 0]


class Tantivy:
    """tantivy: an inverted index with block-max pruning, on disk and mapped into memory."""

    name = "tantivy"

    def __init__(self, lexemes: Lexemes, folder: Path) -> None:
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("text", tokenizer_name="whitespace", index_option="freq")
        builder.add_unsigned_field("number", stored=True)
        self._schema = builder.build()
        folder.mkdir()
        index = tantivy.Index(self._schema, path=str(folder))
        with index.writer(num_threads=1) as writer:
            for number in range(lexemes.documents):
                document = tantivy.Document()
                document.add_text("text", " ".join(map(word, lexemes.of(number))))
                document.add_unsigned("number", number)
                writer.add_document(document)
            writer.commit()
            writer.wait_merging_threads()
        index.reload()
        self._searcher = index.searcher()

    def top(self, tokens: Sequence[int], limit: int) -> Any:
        should = [
            (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, "text", word(t), "freq"))
            for t in tokens
        ]
        query = tantivy.Query.boolean_query(should)
        return self._searcher.search(query, limit, count=False).hits

    def numbers(self, found: Any) -> list[int]:
        return [self._searcher.doc(address)["number"][0] for _, address in found]


class Fts5:
    """SQLite's full-text index, in a file, with a page cache that holds all of it."""

    name = "sqlite fts5"

    def __init__(self, lexemes: Lexemes, file: Path) -> None:
        self._connection = sqlite3.connect(file)
        weakref.finalize(self, self._connection.close)
        self._connection.execute("PRAGMA cache_size = -500000")
        self._connection.execute("CREATE VIRTUAL TABLE document USING fts5 (text, content='')")
        texts = ((n, " ".join(map(word, lexemes.of(n)))) for n in range(lexemes.documents))
        with self._connection:
            self._connection.executemany("INSERT INTO document (rowid, text) VALUES (?, ?)", texts)
            self._connection.execute("INSERT INTO document (document) VALUES ('optimize')")

    def top(self, tokens: Sequence[int], limit: int) -> Any:
        return self._connection.execute(
            "SELECT rowid FROM document WHERE document MATCH ? ORDER BY rank LIMIT ?",
            (" OR ".join(map(word, tokens)), limit),
        ).fetchall()

    def numbers(self, found: Any) -> list[int]:
        return [row[0] for row in found]


def peers(lexemes: Lexemes, folder: Path) -> list[Callable[[], Peer]]:
    """Return a builder for each peer; files go into `folder`, which is created."""
    folder.mkdir()
    return [
        lambda: Bm25s(lexemes, "numba"),
        lambda: Bm25s(lexemes, "numpy"),
        lambda: Tantivy(lexemes, folder / "tantivy"),
        lambda: Fts5(lexemes, folder / "fts5.db"),
    ]


def word(token: int) -> str:
    """Return a lexeme as a word that every tokeniser leaves unchanged."""
    return f"t{token}"
