"""What is known about vectors, and what a cosine means (docs/decisions/0014-embeddings.md)."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

Vector = Sequence[float]

# Changes whenever `embeddable` reads a text differently: vectors of old readings are then renewed.
READING = 1
_LONGEST = 1500  # characters; small models read 512 tokens
_LINK = re.compile(r"https?://\S+|\bpic\.twitter\.com/\S+")
_REPOST = re.compile(r"^\W*rt @\w+:?\s*", re.IGNORECASE)
_LETTER = re.compile(r"\w")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefixes:
    """What some models want to read before a question and before a document."""

    query: str = ""
    document: str = ""

    def naming(self, model: str) -> str:
        """Return a name for the vectors of `model`, another one for another document prefix."""
        return f"{model} {self.document!r}" if self.document else model


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Cosines that a model gives within a corpus: to unrelated texts, and to the same text."""

    mean: float  # of a text, as a question, with unrelated documents
    deviation: float
    same: float  # of a text, as a question, with itself as a document

    def calibrated(self, cosine: float) -> float:
        """Return 0 for what two unrelated texts have, 1 for what a text has with itself.

        Models differ in where their cosines lie (e5: 0.7 to 0.9): this figure does not.
        """
        floor = self.mean + self.deviation
        width = self.same - floor
        return min(1.0, max(0.0, (cosine - floor) / width)) if width > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSpace:
    """The vectors of one corpus that one model made."""

    model_id: int
    model: str
    dimensions: int
    indexed: bool  # neighbours are found by an index, not by comparing with every vector
    scale: Scale | None  # None until it was measured
    share: float = 1.0  # of the corpus' documents that have been embedded


def percent(share: float) -> str:
    """Write a share as it is: 100 % only for all, 0 % only for none."""
    if 0 < share < 0.01:
        return "<1 %"
    return f"{int(100 * share)} %"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedded:
    """A document whose vector is missing, or was made from another text."""

    id: int
    text: str  # to embed; "" has no vector
    source: str  # identifies the text


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """A vector to store; None for a text that says nothing."""

    id: int
    source: str
    vector: Vector | None


def embeddable(*parts: str | None) -> str:
    """Return what of a document's title, text and context means something to a model.

    Links, the mark of a repost and line ends go; "" when nothing is left.
    """
    texts = (" ".join(_LINK.sub(" ", _REPOST.sub("", part or "")).split()) for part in parts)
    joined = "\n".join(text for text in texts if _LETTER.search(text))
    return joined[:_LONGEST]


def source_of(text: str, generation: int = 0) -> str:
    """Return 32 hexadecimal digits that tell one embedded text from another.

    Another `generation` tells it from itself: its vector is to be made anew.
    """
    reading = f"{READING}.{generation}" if generation else str(READING)
    return hashlib.md5(f"{reading}\n{text}".encode(), usedforsecurity=False).hexdigest()
