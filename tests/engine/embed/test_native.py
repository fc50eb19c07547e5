"""Models in folders, on the smallest ones that there can be."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from engine.embed.local import is_installed
from engine.embed.native import (
    CROSS_ENCODER,
    ONNX,
    ModelChoice,
    embed_documents,
    embed_queries,
    load_model,
    score_pairs,
)
from engine.errors import SettingsError
from engine.rerank import CrossEncoderReranker
from engine.values import ScoredText
from engine.vectors import Prefixes

pytestmark = pytest.mark.skipif(not is_installed(ONNX), reason="presagio[local] is not installed")

MEANINGS = {"ferry": (3.0, 0.0), "boat": (3.0, 4.0), "tax": (0.0, 1.0), "?": (0.0, 0.0)}
SCORES = {"ferry": (4.0,), "boat": (2.0,), "tax": (-3.0,), "?": (0.0,)}
_FLOATS, _INTEGERS = 1, 7  # types of tensors; of attributes, 7 is a list of integers


def varint(number: int) -> bytes:
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])


def field(number: int, value: int | str | bytes) -> bytes:
    """Return a field of a protocol buffer."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def described(name: str, kind: int, *sizes: str) -> bytes:
    """Return the description of an input or an output."""
    shape = b"".join(field(1, field(2, size)) for size in sizes)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def put_model(
    folder: Path,
    table: Mapping[str, tuple[float, ...]],
    *,
    scores: bool = False,
    reads: Sequence[str] = ("input_ids",),
) -> Path:
    """Write a model that looks each word up in a table, and with `scores` takes their mean."""
    rows = [number for row in table.values() for number in row]
    width = len(rows) // len(table)
    weights = field(1, len(table)) + field(1, width) + field(2, _FLOATS) + field(8, "table")
    weights += field(9, struct.pack(f"<{len(rows)}f", *rows))
    looked_up = "found" if scores else "out"
    node = field(1, "table") + field(1, reads[0]) + field(2, looked_up) + field(4, "Gather")
    graph = field(1, node)
    if scores:
        axes = field(1, "axes") + field(8, 1) + field(20, _INTEGERS)
        flat = field(1, "keepdims") + field(3, 0) + field(20, 2)
        mean = field(1, "found") + field(2, "out") + field(4, "ReduceMean")
        graph += field(1, mean + field(5, axes) + field(5, flat))
    graph += field(2, "tiny") + field(5, weights)
    graph += b"".join(field(11, described(name, _INTEGERS, "texts", "tokens")) for name in reads)
    sizes = ("texts", "width") if scores else ("texts", "tokens", "width")
    graph += field(12, described("out", _FLOATS, *sizes))
    model = field(1, 7) + field(7, graph) + field(8, field(1, "") + field(2, 11))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model)
    words = {word: number for number, word in enumerate(table)}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "?"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    return folder


def in_folder(folder: Path, prefixes: Prefixes = Prefixes()) -> ModelChoice:  # noqa: B008 - frozen
    return ModelChoice(library=ONNX, name=str(folder), prefixes=prefixes)


def test_a_text_vector_is_pooled_by_mean_or_first_token(tmp_path: Path) -> None:
    mean = in_folder(put_model(tmp_path / "mean", MEANINGS))
    first = in_folder(put_model(tmp_path / "first", MEANINGS))
    pooling = tmp_path / "first" / "1_Pooling"
    pooling.mkdir()
    (pooling / "config.json").write_text('{"pooling_mode_cls_token": true}')
    assert embed_documents(mean, ["boat", "ferry tax tax tax"]) == [
        pytest.approx([0.6, 0.8]),
        pytest.approx([0.5**0.5, 0.5**0.5]),
    ]
    assert embed_documents(first, ["ferry tax tax tax"]) == [[1.0, 0.0]]


def test_a_text_of_unknown_words_means_nothing(tmp_path: Path) -> None:
    choice = in_folder(put_model(tmp_path, MEANINGS))
    assert embed_documents(choice, ["gingerbread"]) == [[0.0, 0.0]]


def test_the_query_prefix_is_prepended_to_questions(tmp_path: Path) -> None:
    choice = in_folder(put_model(tmp_path, MEANINGS), Prefixes(query="tax tax tax "))
    assert embed_queries(choice, ["ferry"]) == [pytest.approx([0.5**0.5, 0.5**0.5])]


def test_a_cross_encoder_in_a_folder_scores_pairs(tmp_path: Path) -> None:
    folder = put_model(tmp_path, SCORES, scores=True)
    choice = ModelChoice(library=CROSS_ENCODER, name=f"onnx:{folder}")
    assert score_pairs(choice, [("ferry", "boat"), ("boat", "tax tax")]) == [
        pytest.approx(3.0),
        pytest.approx(-4 / 3),
    ]


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_folder_that_lacks_a_file_is_refused_with_its_name(tmp_path: Path, missing: str) -> None:
    folder = put_model(tmp_path / missing, MEANINGS)
    (folder / missing).unlink()
    with pytest.raises(SettingsError, match=f"{missing} is missing"):
        load_model(in_folder(folder))


def test_a_model_that_reads_something_else_is_refused(tmp_path: Path) -> None:
    folder = put_model(tmp_path, MEANINGS, reads=("input_ids", "past_key_values"))
    with pytest.raises(SettingsError, match="wants past_key_values"):
        load_model(in_folder(folder))


def test_invalid_weights_are_rejected(tmp_path: Path) -> None:
    folder = put_model(tmp_path, MEANINGS)
    (folder / "model.onnx").write_bytes(b"version https://git-lfs")
    with pytest.raises(SettingsError, match="model"):
        load_model(in_folder(folder))


@pytest.mark.slow
async def test_passages_are_ordered_by_a_model_in_a_folder(tmp_path: Path) -> None:
    folder = put_model(tmp_path, SCORES, scores=True)
    texts = [ScoredText(text=text, score=0.5) for text in ("a tax", "ferry boat")]
    async with CrossEncoderReranker(f"onnx:{folder}") as reranker:
        low, high = await reranker.rerank("ferry", texts)
    assert 0 < low < high < 1
