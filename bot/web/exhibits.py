"""What the pages show of whole corpora: counts and charts, cached for some minutes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bot.web.charts import MonthChart, month_chart
from bot.web.shared_state import SharedState
from bot.web.voting import wall_rule
from db.chat.wall import Wall
from db.corpus.overview import Lead, Overview
from engine.types import Corpus

_MOST_LEADS = 10
_MOST_TRIED = 3
_MOST_SUBJECTS = 12
_MOST_CORPORA = 12  # whose figures the wall adds up


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """The figures of one corpus."""

    corpus: Corpus
    chart: MonthChart | None  # None if it is empty
    leads: Sequence[Lead]  # the longest first
    subjects: Mapping[str, int]  # word -> headlines, most first
    approved: Sequence[Lead]  # what the operator posted or approved, the longest first


async def overview(shared: SharedState) -> Overview:
    """Return the reader of what may be shown. Raises StorageError."""
    return Overview(shared.app.database, await wall_rule(shared.app))


async def exhibited(shared: SharedState, corpus: Corpus) -> Exhibit:
    """Return the figures of a corpus, at most some minutes old. Raises StorageError."""
    rule, database = await wall_rule(shared.app), shared.app.database

    async def counted() -> Exhibit:
        reader = Overview(database, rule)
        strict = Overview(database, replace(rule, trusted=(), voters=0))
        return Exhibit(
            corpus=corpus,
            chart=month_chart(await reader.months(corpus)),
            leads=await reader.leads(corpus, limit=_MOST_LEADS),
            subjects=await reader.subjects(corpus, limit=_MOST_SUBJECTS),
            approved=await strict.leads(corpus, limit=_MOST_TRIED),
        )

    decided = await Wall(database, rule).decided_last()  # what was removed is gone at once
    return await shared.kept.get(("exhibit", corpus.id, corpus.documents, decided), counted)


async def exhibited_together(
    shared: SharedState,
) -> tuple[Sequence[tuple[Corpus, Lead]], Sequence[tuple[Corpus, str, int]]]:
    """Return the longest leads and the most-foretold subjects of the largest corpora that are
    shown. Raises StorageError."""
    every = sorted(await shared.app.corpora.list(), key=lambda one: (-one.documents, one.name))
    shown = [await exhibited(shared, corpus) for corpus in every[:_MOST_CORPORA]]
    leads = [(one.corpus, lead) for one in shown for lead in one.leads]
    leads.sort(key=lambda pair: pair[1].created_at - pair[1].until)
    subjects = [(one.corpus, word, n) for one in shown for word, n in one.subjects.items()]
    subjects.sort(key=lambda row: (-row[2], row[1]))
    return leads[:_MOST_LEADS], subjects[:_MOST_SUBJECTS]
