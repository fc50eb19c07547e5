"""The check of an answer's claims, from the answerer down to the stand-in model."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from engine.answer.answer import Answerer
from engine.answer.cited_answer import AnswerOutcome, CitedAnswer, Question
from engine.answer.claims import SHOWN_LENGTH
from engine.budget import Budget
from engine.compose.models import ClaimChecker, ClientModels
from engine.settings.models import ComposeSettings
from engine.settings.searching import AnswerSettings
from tests.engine.answer.test_answer import Bench, claims
from tests.engine.judge.test_judge import NOW
from tests.engine.passages import gathered, passage
from tests.fakes.model import ModelServer, Step, answer, failure
from tests.fakes.writer import Writer, checking, lines_of

QUESTION = Question(text="What about rents?")
FOUND = gathered("Rents rose by 4 % in 2019.", "The mayor praised Ana, not Berta.", "Tea is cheap.")
RIGHT = ("Rents rose by 4 %.", [1])
INVENTED = ("Rents rose by 9 %.", [1])
SWAPPED = ("The mayor praised Berta.", [2])
LEFT_OUT = "The check left out 1 of 2 sentences: their sources do not support them."


class CheckingBench(Bench):
    """An answerer that checks what its stand-in model writes."""

    def __init__(self, server: ModelServer) -> None:
        self.writer = Writer()
        server.script = [self.writer]
        super().__init__(server)

    def seat(self, settings: AnswerSettings | None = None, **changes: Any) -> Answerer:
        length, model = changes.pop("length", SHOWN_LENGTH), changes.pop("model", "small/model")
        super().seat(**changes)
        models = ClientModels(self.client, ComposeSettings(check_model=model))
        checker = ClaimChecker(models, model=model, length=length)
        chosen = settings or AnswerSettings()
        self.answerer = Answerer(chosen, self.client, self.cache, checker, length=length)
        return self.answerer

    async def say(self, *said: tuple[str, list[int]], check: Step | None = None) -> CitedAnswer:
        self.writer.says["answer"] = claims(*said)
        if check:
            self.writer.says["check"] = check
        return await self.answerer.answer(QUESTION, FOUND, now=NOW)


@pytest.fixture
async def bench(server: ModelServer) -> AsyncIterator[CheckingBench]:
    built = CheckingBench(server)
    yield built
    for client in built.clients:
        await client.aclose()


async def test_unsupported_sentences_are_left_out_with_a_notice(bench: CheckingBench) -> None:
    got = await bench.say(RIGHT, SWAPPED, check=checking((1, "supported", ""), (2, "not", "")))
    assert got.text == "Rents rose by 4 %. [1]"
    assert len(got.sources) == 1
    assert got.notice == LEFT_OUT
    assert [(objection.text, objection.why) for objection in got.objections] == [
        ("The mayor praised Berta.", "Its sources do not support it.")
    ]


async def test_unsupported_sentences_are_marked_if_configured(bench: CheckingBench) -> None:
    bench.seat(AnswerSettings(unsupported="mark"))
    got = await bench.say(RIGHT, SWAPPED, check=checking((1, "supported", ""), (2, "not", "")))
    assert got.text == "Rents rose by 4 %. [1] The mayor praised Berta. [2][?]"
    assert got.notice == (
        "The check found that the sources do not support 1 of 2 sentences, marked [?]."
    )


async def test_a_correction_is_shown_only_if_it_passes_the_guard(bench: CheckingBench) -> None:
    got = await bench.say(
        INVENTED,
        SWAPPED,
        check=checking(
            (1, "not", "Rents rose by 4 % in 2019."), (2, "not", "The mayor praised 7 people.")
        ),
    )
    assert got.text == "Rents rose by 4 % in 2019. [1]"
    assert [objection.why for objection in got.objections] == [
        "No cited source holds the number 9 %. It became: “Rents rose by 4 % in 2019.”",
        "No cited source holds the number 7.",
    ]


async def test_a_number_that_no_source_holds_goes_even_if_the_model_approves(
    bench: CheckingBench,
) -> None:
    got = await bench.say(RIGHT, INVENTED)
    assert got.text == "Rents rose by 4 %. [1]"
    assert got.notice == LEFT_OUT


async def test_an_answer_without_supported_sentences_becomes_an_extract(
    bench: CheckingBench,
) -> None:
    got = await bench.say(SWAPPED, check=checking((1, "not", "")))
    assert got.outcome is AnswerOutcome.EXTRACTED
    assert got.notice == ("Not answered by the model: its sources do not support what it wrote.")
    assert "Berta" in got.text  # in the words of the source
    assert "praised Berta" not in got.text


async def test_a_sentence_that_the_check_passes_over_is_left_out(bench: CheckingBench) -> None:
    got = await bench.say(RIGHT, SWAPPED, check=checking((1, "supported", "")))
    assert got.text == "Rents rose by 4 %. [1]"
    assert [objection.why for objection in got.objections] == ["The check said nothing about it."]


@pytest.mark.parametrize("check", [failure(500), answer("I had rather not.")])
async def test_a_check_that_fails_leaves_the_guard_and_a_notice(
    bench: CheckingBench, check: Step
) -> None:
    got = await bench.say(RIGHT, INVENTED, SWAPPED, check=check)
    assert got.text == "Rents rose by 4 %. [1] The mayor praised Berta. [2]"
    assert not got.checked
    assert (got.notice or "").startswith("Not checked by a model: ")
    before = bench.server.calls
    again = await bench.say(RIGHT, check=checking((1, "supported", ""), (3, "not", "")))
    assert bench.server.calls == before + 1  # the answer was paid for; its check was not
    assert (again.checked, again.cached) == (True, False)


async def test_a_check_is_paid_for_once(bench: CheckingBench) -> None:
    first = await bench.say(RIGHT, SWAPPED, check=checking((1, "supported", ""), (2, "not", "")))
    again = await bench.say()
    assert bench.server.calls == 2
    assert (again.text, again.objections, again.notice) == (
        first.text,
        first.objections,
        first.notice,
    )
    assert (again.cached, again.checked, again.usage) == (True, True, None)
    bench.seat(model="other/model")
    assert not (await bench.say()).cached
    assert bench.server.calls == 3


async def test_a_day_without_money_for_the_check_shows_the_answer_unchecked(
    bench: CheckingBench,
) -> None:
    bench.seat(budget=Budget(tokens=7200))  # the answer costs 7120
    got = await bench.say(RIGHT)
    assert got.text == "Rents rose by 4 %. [1]"
    assert not got.checked
    assert "Not checked by a model: " in (got.notice or "")
    assert bench.writer.asked["check"] == []


async def test_a_silent_answer_is_not_checked(bench: CheckingBench) -> None:
    got = await bench.say()
    assert (got.outcome, got.checked) == (AnswerOutcome.SILENT, False)
    assert bench.server.calls == 1


async def test_the_check_sees_what_the_model_that_answered_saw(bench: CheckingBench) -> None:
    bench.seat(length=100)
    long = "Nothing. " * 60 + "Coffee will double, she says. " + "Nothing. " * 60
    found = gathered(passage(long, context="What of coffee?"))
    bench.writer.says["answer"] = claims(("Coffee will double.", [1]))
    got = await bench.answerer.answer(QUESTION, found, now=NOW)
    assert got.checked
    shown = lines_of(bench.writer.asked["check"][0])[1]["text"]
    assert shown.startswith("(In reply to: “What of coffee?”)")
    assert "Coffee will double" in shown
