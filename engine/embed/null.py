"""The embedder for running without an embedding model."""

from collections.abc import Sequence

from engine.vectors import Vector


class NullEmbedder:
    """Returns empty vectors, which are neither stored nor searched."""

    name = "null"
    dimensions = 0

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return an empty vector for each text."""
        return [() for _ in texts]

    async def embed_query(self, text: str) -> Vector:  # noqa: ARG002 - the port names it
        """Return an empty vector."""
        return ()
