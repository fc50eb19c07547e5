"""`presagio doctor`: checks what works, and suggests fixes for what does not."""

import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict
from datetime import datetime, timedelta

import typer

from bot.app import migrate_database, open_with_server
from bot.cli.checks import CHECKS, Result, Setup, run_check
from bot.cli.shared import Json, read_clock, settings_of
from bot.console.screen import Output
from bot.evidence import open_embedders
from bot.settings import Settings, masked_url
from bot.signals import run_until_signal
from db import migrate
from db.corpus.corpora import Corpora
from db.corpus.health import (
    EXTENSIONS,
    missing_extensions,
    offered_extension,
    reads_quotes,
    role_that_cannot_store,
    server_time,
    server_version,
    statistics_differ,
    takes_writes,
)
from db.corpus.placement import CitusWorker, Placement
from db.logs import JobOutcome, JobOutcomes, RunOutcome
from db.pool import Database
from db.posting.feeds import Feeds
from db.posting.outbox import Outbox
from db.search.nearest import SetAside, SetAsideOfModel, ToEmbed
from engine.corpora import holds_archive
from engine.embed.local import how_to_embed
from engine.errors import CorpusWithheld, PresagioError, StorageInterrupted, StorageOutdated
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
_PGVECTOR, _OLDEST = "vector", (0, 7)


async def check_database(
    settings: Settings, database: Database, now: datetime
) -> AsyncIterator[tuple[str, Result]]:
    """Yield the results of the checks of an open database, by name. Raises StorageError."""
    migrations = await check_tables(database)
    if database.is_pooled:
        yield "pooler", await check_pooler(database)
    yield "extensions", await check_extensions(database)
    yield "migrations", migrations
    yield "pgvector", await check_pgvector(database)
    if not migrations.ok:
        return
    async for named in check_server(database):
        yield named
    corpora = await Corpora(database).list()
    if not holds_archive(corpora):
        yield "corpora", Result.unset("no archive to search yet", "Load one: presagio ingest FILE")
    placement = Placement(database)
    for worker in await placement.workers():
        yield f"worker {worker.name}", check_worker(worker, await placement.places())
    for corpus in corpora:
        if corpus.is_outdated:
            fix = f"Run: presagio corpora reindex {corpus.name}"
            older = Result.unset("made by older rules: some texts may be missed", fix)
            yield f"index of {corpus.name}", older
        yield f"corpus {corpus.name}", await _check_corpus(database, corpus)
    yield "vectors", await _check_vectors(settings, database, corpora)
    for model in await SetAside(database).by_model():
        yield "set aside", _check_set_aside(model)
    feeds = [health.feed for health in await Feeds(database).health(now=now)]
    yield "feeds", _check_feeds(feeds, now)
    yield "jobs", _check_jobs(await JobOutcomes(database).summary(now - _COUNTED))
    yield "outbox", _check_outbox(await Outbox(database).health(now - _COUNTED), now)


def _check_feeds(feeds: Sequence[Feed], now: datetime) -> Result:
    if not feeds:
        return Result.unset("none yet", "Add one with: presagio feeds add URL")
    failing = [feed for feed in feeds if feed.failing_since is not None or feed.gone]
    detail = f"{len(feeds):,} followed, {len(failing):,} failing"
    for feed in failing[:_NAMED]:
        detail += f"; {feed.title or public_address(feed.url)}: {feed.error or 'gone'}"
    odd = [feed for feed in feeds if feed.remarked_at and now - feed.remarked_at < _REMARKED_FOR]
    for feed in odd[:_NAMED]:
        detail += f"; {feed.title or public_address(feed.url)}: {feed.remark}"
    is_reported = any(feed.told_failing or feed.gone for feed in failing)
    fix = "See: presagio feeds" if failing else None
    return Result(ok=not is_reported, detail=detail, fix=fix)


def _check_jobs(outcomes: Sequence[JobOutcome]) -> Result:
    """Check whether the last run of each job ended well; missed and skipped runs do not count."""
    if not outcomes:
        fix = "They run in: presagio serve, or once: presagio run-once"
        return Result.unset("none has run in 7 days", fix)
    by_job: dict[str, list[str]] = {}
    last: dict[str, JobOutcome] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.last_at):
        if outcome.outcome not in (RunOutcome.MISSED, RunOutcome.SKIPPED):
            last[outcome.job] = outcome
    for outcome in outcomes:
        error = f" ({outcome.last_error})" if outcome.last_error else ""
        by_job.setdefault(outcome.job, []).append(f"{outcome.times:,} {outcome.outcome}{error}")
    detail = "; ".join(f"{job}: {', '.join(ends)}" for job, ends in by_job.items())
    bad = [job for job in by_job if job in last and last[job].outcome is not RunOutcome.DONE]
    if bad:
        fix = f"The last run of {', '.join(bad)} did not end well; see the log."
        return Result.broken(detail, fix)
    return Result.working(detail)


def _check_outbox(health: OutboxHealth, now: datetime) -> Result:
    detail = f"{health.owed:,} owed, {health.retried:,} of them tried before"
    detail += f"; {health.failed:,} given up in 7 days"
    if health.last_error:
        detail += f"; last error: {health.last_error}"
    late = health.oldest_owed_at is not None and now - health.oldest_owed_at > _LATE
    running = "Is presagio serve running, with the tokens of all platforms?"
    fix = None
    if late:
        fix = "See the last error." if health.retried else running
    return Result(ok=not late, detail=detail, fix=fix)


async def _check_corpus(database: Database, corpus: Corpus) -> Result:
    try:
        wrong = await statistics_differ(database, corpus)
    except StorageInterrupted as error:  # by the worker that holds it: others go on
        return Result.of_error(error)
    return Result(
        ok=not wrong,
        detail=wrong or f"{corpus.documents:,} documents, statistics exact",
        fix=f"Ingest it again after: presagio corpora drop {corpus.name}" if wrong else None,
    )


async def _check_vectors(settings: Settings, database: Database, corpora: list[Corpus]) -> Result:
    """Check the share of each corpus that has vectors, by model."""
    coverage = await ToEmbed(database).coverage()
    shares = [
        f"{corpus} {format_percent(share)} ({model})"
        for corpus, models in coverage.items()
        for model, share in models.items()
    ]
    detail = ", ".join(shares) or "none: texts are found by words"
    lacking: dict[str, list[str]] = {}  # corpora, by the model that has not embedded all of them
    try:
        async with AsyncExitStack() as stack:
            embedders = open_embedders(settings, database, stack)
            if embedders is None:
                return Result.unset(f"{detail}; no model is set up", how_to_embed())
            for corpus in corpora:
                with suppress(CorpusWithheld):  # it is never sent to the model
                    model = embedders(corpus).name
                    if coverage.get(corpus.name, {}).get(model, 0.0) < 1 and corpus.documents:
                        lacking.setdefault(model, []).append(corpus.name)
    except PresagioError as error:
        return Result.of_error(error, f"{detail}; ")
    if not lacking:
        if shares:
            return Result.working(detail)
        return Result.unset(detail, "They are made after: presagio ingest FILE")
    missing = "; ".join(
        f"{', '.join(names)} {'lacks' if len(names) == 1 else 'lack'} {model}"
        for model, names in lacking.items()
    )
    fix = "presagio serve makes what is missing a little at a time; at once: presagio embed"
    return Result.unset(f"{detail}; {missing}", fix)


def _check_set_aside(model: SetAsideOfModel) -> Result:
    """Name the texts which a model on this machine breaks down over."""
    named = [f"{corpus} {external_id}" for corpus, external_id in model.documents[:_SHOWN]]
    if beyond := len(model.documents) - len(named):
        named.append(f"{beyond:,} more")
    if model.questions:
        named.append("a question" if model.questions == 1 else f"{model.questions:,} questions")
    return Result.unset(
        f"{model.model} breaks down over {', '.join(named)}: found by words alone",
        f"Once the model is mended: presagio embed --clear '{model.model}'",
    )


async def check_pooler(database: Database) -> Result:
    """Check whether the sessions behind a pooler have the settings of presagio."""
    try:
        await database.require_current()
    except StorageOutdated as error:
        return Result.of_error(error)
    detail = (
        "sessions of PgBouncer or its like have the role's settings; prepared statements are "
        f"{'kept' if database.keeps_statements else 'not kept'}; backup needs the server"
    )
    return Result.working(detail)


async def check_extensions(database: Database) -> Result:
    """Check whether the extensions that searches need are there."""
    missing = await missing_extensions(database)
    if not missing:
        return Result.working(", ".join(EXTENSIONS))
    # Once they have been there, much that init does not make again went with them.
    fix = "Run: presagio init. If they are missing still, restore a backup into an empty database"
    if None in [await offered_extension(database, name) for name in missing]:
        fix = "Install PostgreSQL's contrib package, then run: presagio init"
    detail = f"missing: {', '.join(missing)}"
    return Result.broken(detail, fix)


async def check_tables(database: Database) -> Result:
    """Check whether all migrations have run."""
    try:
        async with database.connection() as connection:
            pending = await migrate.check_migrations(connection)
    except PresagioError as error:
        return Result.of_error(error)
    newest = len(migrate.list_migrations())
    if pending:
        return Result.broken(f"{len(pending)} of {newest} have not run", "Run: presagio init")
    return Result.working(f"{newest} applied")


async def check_pgvector(database: Database) -> Result:
    """Check whether vectors can be stored. Without them, searches go by words."""
    offered = await offered_extension(database, _PGVECTOR)
    if offered is None:
        fix = "Install pgvector 0.7 or newer on the server, to search by meaning as well"
        return Result.unset("not on the server", fix)
    version = offered.installed or offered.available
    if tuple(int(part) for part in version.split(".") if part.isdecimal()) < _OLDEST:
        fix = "Install 0.7 or newer on the server, then: ALTER EXTENSION vector UPDATE"
        return Result.broken(f"{version} is too old", fix)
    if not offered.installed and not offered.installable:
        fix = "Have an administrator run in this database: CREATE EXTENSION vector"
        return Result.unset(f"{version}, not in this database", fix)
    use = "" if offered.installed else ", installed with the first vectors"
    return Result.working(f"{version}{use}")


async def check_server(database: Database) -> AsyncIterator[tuple[str, Result]]:
    """Yield, by name, what keeps the server from reading or storing as it should."""
    if not await reads_quotes(database):
        detail = "the database takes typographic quotes for letters: words beside them are missed"
        fix = (
            "Restore a backup into one made with createdb --template=template0 --encoding=UTF8"
            " --lc-collate=C --lc-ctype=C.UTF-8"
        )
        yield "letters", Result.broken(detail, fix)
    if not await takes_writes(database):
        detail = "the server takes none: it is a standby, or default_transaction_read_only is on"
        fix = (
            "Name the primary in DATABASE_URL, or all servers and target_session_attrs=read-write;"
            " or turn that setting off"
        )
        yield "writes", Result.broken(detail, fix)
    if role := await role_that_cannot_store(database):
        detail = (
            f"the role {role} does not own the tables: it may read, and store little or nothing"
        )
        fix = "Name the role that ran presagio init in DATABASE_URL"
        yield "rights", Result.broken(detail, fix)


def check_worker(worker: CitusWorker, places: Mapping[str, str]) -> Result:
    """Check a worker of Citus; `places` has the worker of each placed corpus."""
    held = ", ".join(corpus for corpus, place in places.items() if place == worker.name)
    if not worker.postgres:
        detail = f"does not answer; it holds {held or 'no corpus'}"
        fix = "Start PostgreSQL there, and let the coordinator reach it; nothing else is to be done"
        return Result.broken(detail, fix)
    detail = f"PostgreSQL {worker.postgres}, Citus {worker.citus}; it holds {held or 'no corpus'}"
    if not worker.undecided:
        return Result.working(detail)
    detail += f"; {worker.undecided:,} transactions prepared more than a minute ago"
    fix = (
        "Texts may be locked until they end. Run on the coordinator:"
        " SELECT recover_prepared_transactions()"
    )
    return Result.broken(detail, fix)


async def run_checks(
    settings: Settings, *, json: bool, output: Output, now: Callable[[], datetime]
) -> bool:
    """Run the checks, writing one line for each, and return True if none has failed."""
    faults, setup = 0, Setup(settings=settings, now=now)
    async for name, result in _list_results(setup, output):
        faults += result.ok is False
        if json:
            output.json({"check": name, **asdict(result)})
            continue
        mark = {True: "ok", False: "FAIL", None: "--"}[result.ok]
        output.line(f"{mark:4} {name}: {result.detail}")
        if result.fix:
            output.line(f"     {result.fix}")
    return not faults


async def _list_results(setup: Setup, output: Output) -> AsyncIterator[tuple[str, Result]]:
    settings = setup.settings
    yield "settings", Result.working(str(settings.config_file or "defaults and environment"))
    url = settings.database.url.get_secret_value()
    place = masked_url(url) if url else f"embedded, in {settings.data_dir}"
    try:
        async with open_with_server(settings, output.remark) as (database, server):
            version = await server_version(database)
            yield "database", Result.working(f"PostgreSQL {version}, {place}")
            if url:  # the embedded one has this machine's clock
                setup.offsets["the database"] = setup.now() - await server_time(database)
            else:  # as every other command does
                await migrate_database(settings, database, server, output.remark)
            async for named in check_database(settings, database, setup.now()):
                yield named
    except PresagioError as error:
        yield "database", Result.of_error(error, f"{place}: ")
    for name in CHECKS:
        try:
            result = await run_check(name, setup)
        except PresagioError as error:
            result = Result.of_error(error)
        if result:
            yield name, result


def command(context: typer.Context, json: Json = False) -> None:
    """Check what works, and say how to fix what does not.

    ok works, -- is not set up, FAIL is broken: then the exit code is 1.

    Example: presagio doctor
    """
    if not run_until_signal(
        run_checks(settings_of(context), json=json, output=Output.of_process(), now=read_clock)
    ):
        sys.exit(1)
