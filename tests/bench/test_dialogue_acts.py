"""What people say to the bot is told apart, class by class, in both languages."""

import pytest

from bench.dialogue_acts import LANGUAGES, measure_acts, read_lines
from bot.commands.intents import DialogueAct

# Of lines that nothing was learned from.
_LEAST_RECALL = {
    DialogueAct.QUESTION: 0.8,
    DialogueAct.REMARK: 0.8,
    DialogueAct.HEADLINE: 0.75,
    DialogueAct.INSTRUCTION: 0.7,  # "show me the rest" is taken for a question, and answered
}


@pytest.mark.parametrize("act", DialogueAct)
@pytest.mark.parametrize("language", LANGUAGES)
def test_recall_of_each_act_in_words_that_were_not_learned(language: str, act: DialogueAct) -> None:
    scores = measure_acts(read_lines())
    (score,) = [score for score in scores if (score.language, score.act) == (language, act)]
    assert score.lines >= 20
    assert (score.recall or 0) >= _LEAST_RECALL[act]
