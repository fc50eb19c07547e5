"""What the engine makes of the sections about searching."""

import pytest

from engine.search import Mode
from engine.settings.searching import FindSettings, PublishedSettings, ScoreSettings, SearchSettings
from engine.values import Kind


@pytest.mark.parametrize(
    ("name", "mode"), [("auto", None), ("hybrid", Mode.HYBRID), ("rerank", Mode.RERANK)]
)
def test_auto_leaves_the_mode_open(name: str, mode: Mode | None) -> None:
    assert SearchSettings(mode=name).chosen_mode is mode


def test_weights_carry_the_names_of_what_they_weigh() -> None:
    score = ScoreSettings(judgment=0.4, lexical=0.3, age=0.2, semantic=0.1)
    assert score.weights == {"judgment": 0.4, "lexical": 0.3, "age": 0.2, "semantic": 0.1}


def test_authorities_are_known_by_their_names_in_lower_case() -> None:
    chosen = PublishedSettings(authorities=("www.Example.org = 0.9", "@Ana=1"))
    assert chosen.worths == {"example.org": 0.9, "ana": 1.0}


def test_kinds_without_a_profile_have_none() -> None:
    ranked = set(FindSettings().profiles)
    assert ranked == {Kind.PERSONAL, Kind.SOCIAL, Kind.PUBLISHED}
