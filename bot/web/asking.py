"""`/api/ask`: a question answered from a corpus, each claim with its sources."""

import time

from bot.answering import ask
from bot.console.answer_json import answer_json
from bot.web.desk import Desk
from bot.web.parameters import AskParameters
from bot.web.searching import Scope
from engine.types import Filters


async def answer(desk: Desk, asked: AskParameters) -> dict[str, object]:
    """Return what `presagio ask --json` prints, with what was asked for.

    Raises CorpusNotFound, UsageError, StorageError.
    """
    started, now = time.perf_counter(), desk.now()
    scope = await Scope.of(desk, asked)
    answered = await ask(
        desk.app,
        asked.question,
        [scope.corpus],
        limit=asked.limit,
        now=now,
        filters=Filters(after=asked.period.begins(now)),
        mode=asked.mode,
        prophet=scope.searcher(),
    )
    elapsed_ms = (time.perf_counter() - started) * 1000
    return answer_json(answered, elapsed_ms=elapsed_ms) | {
        "kind": scope.corpus.kind.value,
        "category": asked.category,
        "period": asked.period.value,
    }
