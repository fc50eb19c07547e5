"""What answers are worth is computed from ratings as bench.forward says; recordings are whole."""

import json
from pathlib import Path

from bench.forward import PLAYED, Recording, move_to_threads, read_ratings
from bench.unjudged import LABELS, share_interval
from engine.search import HitKind


def test_a_share_is_of_sums_with_an_interval_around_it() -> None:
    assert share_interval([(1, 2), (3, 3), (0, 1)]) == "0.67 [0.00, 1.00]"
    assert share_interval([(2, 2)] * 5) == "1.00 [1.00, 1.00]"
    assert share_interval([(0, 0)]) == "-"


def test_a_thread_is_worth_its_best_part() -> None:
    firsts = {"1": "1", "2": "1"}
    assert move_to_threads({"1": 1, "2": 3, "4": 2}, firsts) == {"1": 3, "4": 2}


def test_recordings_hold_scores_kinds_and_places_of_texts_with_reasons() -> None:
    recording = Recording.read("general")
    assert recording.phrases.keys() == recording.judgments.keys() == recording.answered.keys()
    kinds = {kind.value for kind in HitKind}
    for entries in recording.judgments.values():
        for score, kind, place, why, about_event in entries.values():
            assert 0 <= int(str(score)) <= 6
            assert kind is None or kind in kinds
            assert place is None or int(str(score)) >= 4
            assert why is None or place is not None
            assert isinstance(about_event, bool)


def test_an_unknown_recording_is_empty() -> None:
    assert Recording.read("nobody") == Recording()
    assert json.loads((PLAYED / "general.json").read_text())


def test_own_ratings_are_read_beside_those_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "forward").mkdir()
    (tmp_path / "forward" / "dev.tsv").write_text("en06\t1\tP\t3\n", encoding="utf-8")
    ratings = read_ratings(tmp_path)
    assert ratings["en06"]["1"] == 3
    own = (LABELS / "forward.tsv").read_text().splitlines()
    assert sum(map(len, ratings.values())) == 1 + len(own)
