"""The figures of unjudged answers, and the fit of their order."""

from pathlib import Path

import numpy as np
import pytest

from bench.measures import NO_MATCH, JudgedHeadline
from bench.unjudged import (
    COLLECTIONS,
    LABELS,
    Asked,
    Sample,
    compare,
    cross_validate,
    describe,
    fit,
    read_collections,
)
from engine.prophecy.rerank import FEATURES

ENGLISH = COLLECTIONS[-2]


def asked(qid: str, labels: dict[str, int], *shown: str, kind: str | None = None) -> Asked:
    return Asked(ENGLISH, JudgedHeadline(qid=qid, headline=qid, kind=kind), labels, shown)


def test_a_row_counts_silent_answers_and_wrong_hits() -> None:
    row = describe(
        [
            asked("found", {"a": 6, "b": 3, "c": 2}, "a", "c", "x"),
            asked("missed", {"a": 4}),
            asked("nothing", {"a": 1}, kind=NO_MATCH),
            asked("junk", {"a": 1}, "a", kind=NO_MATCH),
        ]
    )
    assert (row["silent"], row["mute"], row["below_3"]) == ("1 of 2", "1", "3 of 4")
    assert row["P@3"] == pytest.approx(1 / 6, abs=0.001)


def test_the_interval_of_a_difference_holds_its_mean() -> None:
    ours = [asked(f"q{n}", {"a": 6, "b": 0}, "a" if n % 4 else "b") for n in range(40)]
    theirs = {our.key: 0.5 for our in ours}
    said = compare(ours, theirs)
    assert said is not None
    mean, low, high = (float(one.strip("[],")) for one in said.split())
    assert mean == pytest.approx(0.25)
    assert low < mean < high
    assert compare(ours, {}) is None


def sample(number: int, useful: bool) -> Sample:
    chance = np.random.default_rng(number)
    features = chance.normal(size=(24, len(FEATURES)))
    labels = 2.0 + 1.5 * features[:, FEATURES.index("cosine")] if useful else np.zeros(24)
    ids = [str(at) for at in range(24)]
    known = dict(zip(ids, np.clip(labels.round(), 0, 6).astype(int).tolist(), strict=True))
    return Sample(asked(f"q{number}", known), ids, features, labels)


def test_the_fit_finds_what_decides_and_always_the_same() -> None:
    samples = [sample(number, useful=True) for number in range(12)]
    first, again = fit(samples), fit(samples)
    assert first.weights.tolist() == again.weights.tolist()
    heaviest = FEATURES[int(np.argmax(np.abs(first.weights)))]
    assert heaviest == "cosine"
    answered = cross_validate(samples, 2.0)
    assert describe(answered)["junk"] == 0
    assert all(not one.shown for one in cross_validate(samples, 9.0))


def test_the_labels_of_the_project_can_be_read() -> None:
    assert LABELS.is_dir()
    read = list(read_collections(Path("nowhere"), ["labels"]))
    assert [len(headlines) for _, headlines, _ in read] == [24, 34]
    for _, headlines, qrels in read:
        assert set(qrels) == {headline.qid for headline in headlines}
        for headline in headlines:
            assert (max(qrels[headline.qid].values()) >= 3) == headline.matchable
