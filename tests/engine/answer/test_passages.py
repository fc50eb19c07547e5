"""A question that names years is asked of the texts of these years, in English and Spanish."""

import pytest

from engine.answer.passages import extract_subject, read_period, stands_alone


@pytest.mark.parametrize(
    ("question", "after", "before"),
    [
        ("What did he say about the ferry in 2018?", 2018, 2019),
        ("What did he say in 2012 and in 2014 about oil?", 2012, 2015),
        ("¿Qué dijo del FMI en 2018?", 2018, 2019),
        ("¿Qué opinó durante 2015?", 2015, 2016),
        ("What has she written since 2015 on trains?", 2015, None),
        ("¿Qué dice desde 2015?", 2015, None),
        ("what after 2016 about China", 2017, None),
        ("¿Qué dijo antes de 2012?", None, 2012),
        ("anything until 2013?", None, 2014),
        ("Between 2014 and 2016, what changed?", 2014, 2017),
        ("entre 2014 y 2016", 2014, 2017),
        ("de 2010 a 2012", 2010, 2013),
        ("his posts 2010-2012 about cars", 2010, 2013),
        ("since 2012 and before 2015", 2012, 2015),
    ],
)
def test_years_are_read_as_a_time(question: str, after: int | None, before: int | None) -> None:
    period = read_period(question)
    assert period
    years = [None if moment is None else moment.year for moment in (period.after, period.before)]
    assert years == [after, before]


@pytest.mark.parametrize(
    "question",
    [
        "Who wins the 2020 election?",
        "What did he say about 2020?",
        "in 20188 or in 2018.5 or in 1776",
        "before 2012 and after 2015",
        "",
    ],
)
def test_a_year_that_is_a_subject_limits_nothing(question: str) -> None:
    assert read_period(question) is None


# What a question is about


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
def test_question_phrases_are_dropped_unless_nothing_remains(question: str, about: str) -> None:
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
