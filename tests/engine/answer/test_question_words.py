"""What a question is about."""

import pytest

from engine.answer.passages import extract_subject, stands_alone


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("What was said about coffee prices?", "coffee prices?"),
        ("¿Qué es el LinnSequencer?", "¿ LinnSequencer?"),
        ("¿Qué dijo sobre el precio del café?", "¿ precio del café?"),
        ("What did he say?", "he ?"),
        ("coffee", "coffee"),
        ("Why?", "Why?"),
        ("songs of The Who", "songs of The Who"),
        ("the post-office and @posts", "the post-office and @posts"),
    ],
)
def test_question_phrases_are_dropped_unless_nothing_else_remains(
    question: str, about: str
) -> None:
    assert extract_subject(question) == about


@pytest.mark.parametrize(
    "question",
    [
        "What did he say about wind farms?",
        "And what did he say about wind farms?",
        "Did he ever mention coffee",
        "Has he said that wind farms kill birds?",
        "Is there anything about wind farms?",
        "¿Qué dijo sobre los parques eólicos?",
        "¿Y qué dijo sobre el café?",
        "who would win an election",
        "What did he say about this year's harvest?",
        "wind farms",
        "Was sagte er über Windräder?",
    ],
)
def test_a_complete_question_stands_alone(question: str) -> None:
    assert stands_alone(question)


@pytest.mark.parametrize(
    "question",
    [
        "And in 2015?",
        "in March 2015?",
        "Why?",
        "When exactly?",
        "how often",
        "And tea?",
        "What about tea?",
        "And what about green tea?",
        "in New York?",
        "And is it quiet?",
        "Did he like it?",
        "What did he say about that?",
        "Did he say so before the election, too?",
        "Was he ever there?",
        "¿Y en 2015?",
        "¿y el té verde?",
        "¿Por qué?",
        "¿Qué opina de eso?",
        "¿Y antes?",
        "Und 2015?",
        "tea?",
        "???",
    ],
)
def test_a_question_that_refers_to_an_earlier_one_does_not_stand_alone(question: str) -> None:
    assert not stands_alone(question)
