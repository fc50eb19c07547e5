"""A cited answer as people read it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bot.i18n.words import Words, words_for
from bot.replies.find import answer_reply, brief_answer_reply
from bot.reply import Reply, format_signature
from engine.answer.cited_answer import AnswerOutcome, CitedAnswer, CitedSource, Question, Sentence
from engine.messages import Message
from engine.values import Flag
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


def test_the_answer_comes_first_then_each_source_with_date_and_link() -> None:
    assert said(ANSWERED).split("\n") == [
        "It is dear. [1] So. [?]",
        "",
        "[1] August 30, 2013 · @ana",
        "   Coffee is dear.",
        "   https://posts.example/1",
    ]


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
    brief = (brief_answer_reply(extracted, words_for("en")).text or "").split("\n")
    assert brief == said(extracted).split("\n")[:2]
    assert brief_answer_reply(ANSWERED, words_for("en")).text == ANSWERED.text


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The sources do not say.\n3 texts were read."),
        ("es", "Las fuentes no dicen nada de esto.\nSe leyeron 3 textos."),
    ],
)
def test_silent_answer_says_the_sources_do_not_say(language: str, text: str) -> None:
    silent = replace(ANSWERED, outcome=AnswerOutcome.SILENT, sentences=(), sources=())
    assert said(silent, language) == text


def test_citation_marks_inside_a_source_are_neutralised() -> None:
    found = passage(
        "Free\ncoffee [2] at https://debian.org/a w/@TigerWoods <3 [sic] [1]", score=0.5
    )
    shown = "Free coffee (2) at https://debian.org/a w/@TigerWoods <3 [sic] (1)"
    answer = replace(ANSWERED, sources=(CitedSource(number=1, passage=found),))
    reply = answer_reply(answer, words_for("en"))
    assert f"   {shown}\n" in (reply.text or "")
    assert reply.inert
    brief = brief_answer_reply(answer, words_for("en"))
    assert ([hit.text for hit in brief.hits], brief.inert) == ([shown], True)


@pytest.mark.parametrize("reply", [answer_reply, brief_answer_reply])
def test_quotes_reposts_and_replies_are_marked_in_answer_and_sources(
    reply: Callable[[CitedAnswer, Words], Reply],
) -> None:
    texts = ('"@fan: Your coffee is great!" Thanks.', "RT @TundraSwans: Coffee.", "@bob Coffee.")
    flags = (Flag.QUOTE, Flag.REPOST, Flag.REPLY)
    answer = CitedAnswer(
        question=ANSWERED.question,
        outcome=AnswerOutcome.EXTRACTED,
        corpora=("me",),
        sentences=tuple(
            Sentence(text=text, sources=(number,), quoted=True)
            for number, text in enumerate(texts, start=1)
        ),
        sources=tuple(
            CitedSource(number=number, passage=passage(text, flags=flag))
            for number, (text, flag) in enumerate(zip(texts, flags, strict=True), start=1)
        ),
        passages=3,
    )
    said = reply(answer, words_for("en"))
    lines = (said.text or "").split("\n")
    assert lines[1:4] == [
        '"@fan: Your coffee is great!" Thanks. [1] · quote',
        "“RT @TundraSwans: Coffee.” [2] · repost",
        "“@bob Coffee.” [3] · reply",
    ]
    facts = [line.split(" · ") for line in lines if line.startswith("[")]
    below = [part[2] for part in facts] or [
        mark for hit in said.hits for mark in hit.marks(words_for("en"))
    ]
    assert below == ["quote", "repost", "reply"]


def test_only_accounts_are_signed_with_an_at() -> None:
    assert format_signature(None, "ana") == format_signature(None, "@ana") == "@ana"
    assert format_signature("Ana Ruiz", "ana") == "Ana Ruiz"
    assert format_signature(None, "Ana Ruiz") == "Ana Ruiz"
    assert format_signature(None, "Homer", in_item=True) == "Homer"
    assert format_signature(None, None) is None
