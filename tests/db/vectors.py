"""Vectors for tests: a model that needs no library, and servers that can keep what it makes."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from db.pool import Database
from engine.vectors import Vector
from tests.database import fetch_value

DIMENSIONS = 16


@dataclass
class WordModel:
    """The same text has the same vector; texts that share words are near. Notes what it read."""

    name: str = "words"
    dimensions: int | None = DIMENSIONS
    documents: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self.documents += texts
        return [self.vector(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        self.queries.append(text)
        return self.vector(text)

    def vector(self, text: str) -> list[float]:
        """Return the mean direction of the words of `text`."""
        length = self.dimensions or DIMENSIONS
        parts = [hashlib.blake2b(word.encode(), digest_size=length) for word in text.split()]
        return [math.fsum(p.digest()[i] - 127.5 for p in parts) for i in range(length)]


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two vectors."""
    product = math.fsum(a * b for a, b in zip(one, other, strict=True))
    return product / math.hypot(*one) / math.hypot(*other)


async def can_keep_vectors(database: Database) -> bool:
    """Tell whether the server has pgvector 0.7 or newer."""
    version = await fetch_value(
        database, "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
    )
    return bool(version) and tuple(map(int, version.split(".")[:2])) >= (0, 7)


async def require_vectors(database: Database) -> None:
    """Skip the test on a server that cannot keep vectors."""
    if not await can_keep_vectors(database):
        pytest.skip("this server has no pgvector 0.7 or newer")
