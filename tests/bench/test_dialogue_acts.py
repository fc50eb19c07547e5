"""What people say to the bot is told apart, class by class, in both languages."""

import pytest

from bench.dialogue_acts import LANGUAGES, measure_acts, read_lines
from bot.commands.dialogue_acts import DialogueAct

_LEAST = 0.9


def test_each_language_has_150_lines_written_before_the_features() -> None:
    first = [line.language for line in read_lines() if line.round == 1]
    assert [first.count(language) for language in LANGUAGES] == [150, 150]


@pytest.mark.parametrize("act", DialogueAct)
@pytest.mark.parametrize("language", LANGUAGES)
def test_precision_and_recall_of_each_act(language: str, act: DialogueAct) -> None:
    scores = measure_acts(read_lines())
    (score,) = [score for score in scores if (score.language, score.act) == (language, act)]
    assert score.lines >= 30
    assert (score.precision or 0) >= _LEAST
    assert (score.recall or 0) >= _LEAST
