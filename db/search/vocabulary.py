"""Reads texts as a corpus does; implements engine.embed.tfidf.Vocabulary."""

from collections.abc import Sequence

from db.pool import Database
from db.statements import statements
from engine.text.clean import searchable
from engine.types import Corpus


class CorpusVocabulary:
    """Reads texts with the corpus' text-search configuration and its document frequencies."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("embeddings")

    async def lexemes(
        self, corpus: Corpus, texts: Sequence[str]
    ) -> list[dict[str, tuple[int, int]]]:
        """Return for each text its lexemes with (occurrences in the text, document frequency)."""
        read: list[dict[str, tuple[int, int]]] = [{} for _ in texts]
        async with self._database.reading(latest=True) as reader:
            rows = await reader.fetch(
                self._sql["lexemes"],
                corpus.id,
                [searchable(text) for text in texts],
                corpus.language,
            )
        for row in rows:
            read[row["place"] - 1][row["lexeme"]] = (row["frequency"], row["document_frequency"])
        return read

    async def shares(self, corpus: Corpus, limit: int) -> dict[str, float]:
        """Return the share of documents that contain each of the `limit` most frequent lexemes."""
        async with self._database.reading(latest=True) as reader:
            rows = await reader.fetch(self._sql["shares"], corpus.id, limit)
        return {row["lexeme"]: row["share"] for row in rows}
