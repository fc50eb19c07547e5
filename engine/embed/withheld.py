"""The embedder for a private corpus that the configured model may not read."""

from collections.abc import Sequence

from engine.errors import CorpusWithheld
from engine.vectors import Vector


class WithheldEmbedder:
    """Sends nothing and raises an error that says why.

    `name` is the model's, because vectors of it may already be stored.
    """

    dimensions = None

    def __init__(self, name: str, refusal: CorpusWithheld) -> None:
        self.name = name
        self._refusal = refusal

    def _refused(self) -> CorpusWithheld:
        return CorpusWithheld(self._refusal.message, fix=self._refusal.fix)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:  # noqa: ARG002 - the port
        """Raise CorpusWithheld."""
        raise self._refused()

    async def embed_query(self, text: str) -> Vector:  # noqa: ARG002 - the port names it
        """Raise CorpusWithheld."""
        raise self._refused()
