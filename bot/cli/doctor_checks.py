"""The checks of `presagio doctor` that ask the database."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack
from datetime import datetime, timedelta

from bot.cli.doctor_servers import (
    Check,
    check_extensions,
    check_pgvector,
    check_pooler,
    check_server,
    check_tables,
    check_worker,
)
from bot.evidence import open_embedders
from bot.settings import Settings
from db.corpus.corpora import Corpora
from db.corpus.health import (
    statistics_differ,
)
from db.corpus.placement import Placement
from db.logs import JobOutcome, JobOutcomes, RunOutcome
from db.pool import Database
from db.posting.feeds import Feeds
from db.posting.outbox import Outbox
from db.search.nearest import SetAside, SetAsideOfModel, ToEmbed
from engine.embed.local import how_to_embed
from engine.errors import (
    CorpusWithheld,
    PresagioError,
    StorageInterrupted,
)
from engine.feeds.feed import Feed
from engine.posting.delivery import OutboxHealth
from engine.text.address import public_address
from engine.values import Corpus
from engine.vectors import format_percent

_COUNTED = timedelta(days=7)
_LATE = timedelta(minutes=30)  # twice the longest pause between two attempts
_REMARKED_FOR = timedelta(days=1)  # what shows again is remarked on again
_NAMED = 3
_SHOWN = 5  # texts that are set aside


async def news_checks(database: Database, now: datetime) -> list[Check]:
    """Return one check each for feeds, jobs and the outbox. Raises StorageError."""
    feeds = [health.feed for health in await Feeds(database).health(now=now)]
    outcomes = await JobOutcomes(database).summary(now - _COUNTED)
    health = await Outbox(database).health(now - _COUNTED)
    return [
        _check_feeds(feeds, now),
        _check_jobs(outcomes),
        _check_outbox(health, now),
    ]


def _check_feeds(feeds: Sequence[Feed], now: datetime) -> Check:
    if not feeds:
        none_yet = "Add one with: presagio feeds add URL"
        return Check(check="feeds", ok=None, detail="none yet", fix=none_yet)
    failing = [feed for feed in feeds if feed.failing_since is not None or feed.gone]
    detail = f"{len(feeds):,} followed, {len(failing):,} failing"
    for feed in failing[:_NAMED]:
        detail += f"; {feed.title or public_address(feed.url)}: {feed.error or 'gone'}"
    odd = [feed for feed in feeds if feed.remarked_at and now - feed.remarked_at < _REMARKED_FOR]
    for feed in odd[:_NAMED]:
        detail += f"; {feed.title or public_address(feed.url)}: {feed.remark}"
    is_reported = any(feed.told_failing or feed.gone for feed in failing)
    fix = "See: presagio feeds" if failing else None
    return Check(check="feeds", ok=not is_reported, detail=detail, fix=fix)


def _check_jobs(outcomes: Sequence[JobOutcome]) -> Check:
    if not outcomes:
        none_yet = "They run in: presagio serve, or once: presagio run-once"
        return Check(check="jobs", ok=None, detail="none has run in 7 days", fix=none_yet)
    by_job: dict[str, list[JobOutcome]] = {}
    for outcome in outcomes:
        by_job.setdefault(outcome.job, []).append(outcome)
    detail = "; ".join(f"{job}: {', '.join(_describe_ends(ends))}" for job, ends in by_job.items())
    bad = [job for job, ends in by_job.items() if _ends_badly(ends)]
    fix = f"The last run of {', '.join(bad)} did not end well; see the log." if bad else None
    return Check(check="jobs", ok=not bad, detail=detail, fix=fix)


def _describe_ends(ends: Sequence[JobOutcome]) -> Iterator[str]:
    for end in ends:
        error = f" ({end.last_error})" if end.last_error else ""
        yield f"{end.times:,} {end.outcome}{error}"


def _ends_badly(ends: Sequence[JobOutcome]) -> bool:
    """Return whether the last run failed; missed and skipped runs do not count."""
    runs = [end for end in ends if end.outcome not in (RunOutcome.MISSED, RunOutcome.SKIPPED)]
    return bool(runs) and max(runs, key=lambda end: end.last_at).outcome is not RunOutcome.DONE


def _check_outbox(health: OutboxHealth, now: datetime) -> Check:
    detail = f"{health.owed:,} owed, {health.retried:,} of them tried before"
    detail += f"; {health.failed:,} given up in 7 days"
    if health.last_error:
        detail += f"; last error: {health.last_error}"
    late = health.oldest_owed_at is not None and now - health.oldest_owed_at > _LATE
    running = "Is presagio serve running, with the tokens of all platforms?"
    fix = None
    if late:
        fix = "See the last error." if health.retried else running
    return Check(check="outbox", ok=not late, detail=detail, fix=fix)


async def database_checks(
    settings: Settings, database: Database, now: datetime
) -> AsyncIterator[Check]:
    """Yield the checks of an open database. Raises StorageError."""
    migrations = await check_tables(database)
    if database.is_pooled:
        yield await check_pooler(database)
    yield await check_extensions(database)
    yield migrations
    yield await check_pgvector(database)
    if not migrations.ok:
        return
    async for check in check_server(database):
        yield check
    corpora = await Corpora(database).list()
    if not corpora:
        fix = "Load one with: presagio ingest FILE"
        yield Check(check="corpora", ok=None, detail="none yet", fix=fix)
    placement = Placement(database)
    for worker in await placement.workers():
        yield check_worker(worker, await placement.places())
    for corpus in corpora:
        if corpus.is_outdated:
            yield _check_index(corpus)
        yield await _corpus_check(database, corpus)
    yield await _vectors_check(settings, database, corpora)
    for model in await SetAside(database).by_model():
        yield _set_aside_check(model)
    for check in await news_checks(database, now):
        yield check


def _check_index(corpus: Corpus) -> Check:
    return Check(
        check=f"index of {corpus.name}",
        ok=None,
        detail="made by older rules: some texts may be missed",
        fix=f"Run: presagio corpora reindex {corpus.name}",
    )


async def _corpus_check(database: Database, corpus: Corpus) -> Check:
    name = f"corpus {corpus.name}"
    try:
        wrong = await statistics_differ(database, corpus)
    except StorageInterrupted as error:  # by the worker that holds it: others go on
        return Check(check=name, ok=False, detail=error.message, fix=error.fix)
    return Check(
        check=name,
        ok=not wrong,
        detail=wrong or f"{corpus.documents:,} documents, statistics exact",
        fix=f"Ingest it again after: presagio corpora drop {corpus.name}" if wrong else None,
    )


async def _vectors_check(settings: Settings, database: Database, corpora: list[Corpus]) -> Check:
    """Return a check with the share of each corpus that has vectors, by model."""
    name, coverage = "vectors", await ToEmbed(database).coverage()
    shares = [
        f"{corpus} {format_percent(share)} ({model})"
        for corpus, models in coverage.items()
        for model, share in models.items()
    ]
    detail = ", ".join(shares) or "none: texts are found by words"
    try:
        lacking = await _without_vectors(settings, database, corpora)
    except PresagioError as error:
        return Check(check=name, ok=False, detail=f"{detail}; {error.message}", fix=error.fix)
    if lacking is None:
        detail += "; no model is set up"
        return Check(check=name, ok=None, detail=detail, fix=how_to_embed())
    if not lacking:
        return Check(
            check=name, ok=True if shares else None, detail=detail, fix=_suggest_ingest(shares)
        )
    missing = "; ".join(
        f"{', '.join(names)} {'lacks' if len(names) == 1 else 'lack'} {model}"
        for model in dict.fromkeys(lacking.values())
        if (names := [corpus for corpus, lacked in lacking.items() if lacked == model])
    )
    fix = "presagio serve makes what is missing a little at a time; at once: presagio embed"
    return Check(check=name, ok=None, detail=f"{detail}; {missing}", fix=fix)


def _set_aside_check(model: SetAsideOfModel) -> Check:
    """Return the check that names the texts which a model on this machine breaks down over."""
    named = [f"{corpus} {external_id}" for corpus, external_id in model.documents[:_SHOWN]]
    if beyond := len(model.documents) - len(named):
        named.append(f"{beyond:,} more")
    if model.questions:
        named.append("a question" if model.questions == 1 else f"{model.questions:,} questions")
    return Check(
        check="set aside",
        ok=None,
        detail=f"{model.model} breaks down over {', '.join(named)}: found by words alone",
        fix=f"Once the model is mended: presagio embed --clear '{model.model}'",
    )


def _suggest_ingest(shares: list[str]) -> str | None:
    return None if shares else "They are made after: presagio ingest FILE"


async def _without_vectors(
    settings: Settings, database: Database, corpora: list[Corpus]
) -> dict[str, str] | None:
    """Return the corpora that are not wholly embedded, each with the model of the settings.

    None if no model is set up. Raises SettingsError and storage errors.
    """
    coverage, lacking = await ToEmbed(database).coverage(), {}
    async with AsyncExitStack() as stack:
        embedders = open_embedders(settings, database, stack)
        if embedders is None:
            return None
        for corpus in corpora:
            try:
                model = embedders(corpus).name
            except CorpusWithheld:
                continue  # it is never sent to the model
            if coverage.get(corpus.name, {}).get(model, 0.0) < 1 and corpus.documents:
                lacking[corpus.name] = model
    return lacking
