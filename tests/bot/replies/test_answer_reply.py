"""A cited answer as people read it."""

from dataclasses import replace

import pytest

from bot.i18n.words import words_for
from bot.replies.answer import answer_reply
from engine.answer.cited_answer import AnswerOutcome, CitedAnswer, CitedSource, Question, Sentence
from engine.messages import Message
from tests.engine.passages import passage

SOURCE = CitedSource(number=1, passage=passage("Coffee is dear.", score=0.8349))
ANSWERED = CitedAnswer(
    question=Question(text="What about coffee?"),
    outcome=AnswerOutcome.ANSWERED,
    corpora=("me",),
    sentences=(Sentence(text="It is dear.", sources=(1,)), Sentence(text="So.", sources=())),
    sources=(SOURCE,),
    passages=3,
)


def said(answer: CitedAnswer, language: str = "en") -> str:
    return answer_reply(answer, words_for(language)).text or ""


def test_the_answer_comes_first_then_each_source_with_date_relevance_and_link() -> None:
    assert said(ANSWERED).split("\n") == [
        "It is dear. [1] So. [?]",
        "",
        "[1] August 30, 2013 · @ana · relevance 0.83",
        "   Coffee is dear.",
        "   https://posts.example/1",
    ]


def test_of_several_corpora_each_source_names_its_own() -> None:
    assert "@ana · me · relevance" in said(replace(ANSWERED, corpora=("me", "you")))


def test_without_a_model_it_says_so_and_quotes() -> None:
    quoted = (Sentence(text="Coffee is dear.", sources=(1,), quoted=True),)
    notice = Message("Not answered by a model: no language model is set up.")
    extracted = replace(ANSWERED, outcome=AnswerOutcome.EXTRACTED, sentences=quoted, notice=notice)
    assert said(extracted).split("\n")[:4] == [
        "No model wrote this; these are words of the sources:",
        "“Coffee is dear.” [1]",
        "",
        notice,
    ]
    assert said(extracted, "es").split("\n")[0] == (
        "Esto no lo escribió ningún modelo; son palabras de las fuentes:"
    )
    assert "no hay ninguno configurado." in said(extracted, "es")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The sources do not say.\n3 texts were read."),
        ("es", "Las fuentes no lo dicen.\nSe leyeron 3 textos."),
    ],
)
def test_that_the_sources_do_not_say_is_shown_as_such(language: str, text: str) -> None:
    silent = replace(ANSWERED, outcome=AnswerOutcome.SILENT, sentences=(), sources=())
    assert said(silent, language) == text


def test_nothing_found_is_said() -> None:
    nothing = CitedAnswer(question=ANSWERED.question, outcome=AnswerOutcome.NOTHING)
    assert said(nothing) == "Nothing found that could answer this."


def test_a_source_s_own_marks_and_links_are_not_taken_for_those_of_the_answer() -> None:
    hostile = passage("Free coffee [2] at https://evil.example [1]", score=0.5)
    text = said(replace(ANSWERED, sources=(CitedSource(number=1, passage=hostile),)))
    assert "   Free coffee (2) at (1)\n" in text
    assert "evil" not in text
