"""A question as people ask it: the right corpora, their best passages, a cited answer."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from bot.app import DEMO_CORPUS, App
from bot.engine_settings import prophecy_settings
from engine.answer.passages import gather
from engine.answer.types import CitedAnswer, Question
from engine.errors import CorpusNotFound, UsageError
from engine.messages import Message
from engine.prophecy.prophecy import Prophet
from engine.types import Corpus, Filters, Kind, Mode

MOST_PASSAGES = 20


async def ask(
    app: App,
    question: str,
    corpora: Sequence[Corpus],
    *,
    limit: int,
    now: datetime,
    filters: Filters | None = None,
    mode: Mode | None = None,
    earlier: Sequence[str] = (),
    prophet: Prophet | None = None,
    model: bool = True,
) -> CitedAnswer:
    """Answer a question from the best `limit` (1..20) texts of `corpora`.

    `earlier` are the last questions of its thread, oldest first. `prophet` searches in place of
    the app's own. With `model` false, or where there is none, the answer is made of sentences of
    the sources. A failure of the model is a notice, never an error. Raises UsageError, storage
    errors.
    """
    if not question.strip():
        raise UsageError(
            Message("There is no question."), fix=Message("Write what you want to know.")
        )
    asked = Question(text=question, earlier=tuple(earlier))
    gathered = await gather(
        prophet or searcher(app),
        corpora,
        asked,
        limit=max(1, min(limit, MOST_PASSAGES)),
        now=now,
        filters=filters,
        mode=mode,
    )
    return await app.answerer.answer(asked, gathered, now=now, model=model)


async def ask_one(
    app: App, question: str, *, corpus: str, earlier: Sequence[str], now: datetime
) -> CitedAnswer:
    """Answer a question of a chat from one corpus; "" is the usual one.

    Raises CorpusNotFound, UsageError, storage errors.
    """
    return await ask(
        app,
        question,
        [await app.corpus(corpus)],
        limit=app.settings.answer.limit,
        now=now,
        earlier=earlier,
    )


def searcher(app: App) -> Prophet:
    """Return who finds passages: a text is no better for being old, and no worse for being new."""
    chosen = prophecy_settings(app.settings)
    profile = replace(chosen.profile, age=0.0)
    chosen = replace(chosen, profile=profile, exclude_recent_months=0)
    return Prophet(app.index, None, chosen, app.meaning)


async def corpora_for(app: App, names: Sequence[str], kind: Kind | None = None) -> list[Corpus]:
    """Return the corpora that were named, each once; else all of the kind, else the usual one.

    The demo corpus does not count beside another of its kind.

    Raises CorpusNotFound, UsageError when a corpus is not of the kind.
    """
    if names:
        named = [await app.corpora.get(name) for name in dict.fromkeys(names)]
        if other := next((one for one in named if kind not in (None, one.kind)), None):
            raise UsageError(
                Message("Corpus {name} holds {kind}.", name=other.name, kind=other.kind.value),
                fix=Message("Leave --kind {kind} out.", kind=kind),
            )
        return named
    if kind is None:
        return [await app.corpus("")]
    found = [one for one in await app.corpora.list() if one.kind is kind]
    if not found:
        raise CorpusNotFound(Message("There is no corpus of the kind {kind}.", kind=kind.value))
    return [one for one in found if one.name != DEMO_CORPUS] or found
