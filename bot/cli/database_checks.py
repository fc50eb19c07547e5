"""The checks of `presagio doctor` that ask the database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from datetime import datetime

from bot.cli.news_checks import Check, news_checks
from bot.embedders import open_embedders
from bot.settings import Settings
from db import migrate
from db.corpus.corpora import Corpora
from db.corpus.health import (
    EXTENSIONS,
    missing_extensions,
    offered_extension,
    role_that_cannot_store,
    statistics_differ,
)
from db.pool import Database
from db.replicas.replica import ReplicaState
from db.search.unembedded import ToEmbed
from engine.errors import CorpusWithheld, PresagioError, StorageOutdated
from engine.types import Corpus
from engine.vectors import percent

_REPLAY_SECONDS = 3.0
_PGVECTOR, _OLDEST = "vector", (0, 7)


async def database_checks(
    settings: Settings, database: Database, now: datetime
) -> AsyncIterator[Check]:
    """Yield the checks of an open database. Raises StorageError."""
    migrations = await _migrations_check(database)
    if database.pooled:
        yield await _pooler_check(database)
    yield await _extensions_check(database)
    yield migrations
    yield await _pgvector_check(database)
    if not migrations.ok:
        return
    if role := await role_that_cannot_store(database):
        yield _rights(role)
    corpora = await Corpora(database).list()
    if not corpora:
        fix = "Load one with: presagio ingest FILE"
        yield Check(check="corpora", ok=None, detail="none yet", fix=fix)
    for corpus in corpora:
        if corpus.outdated:
            yield _outdated(corpus)
        yield await _corpus_check(database, corpus)
    yield await _vectors_check(settings, database, corpora)
    for check in await news_checks(database, settings, now):
        yield check


async def _pooler_check(database: Database) -> Check:
    """Return a check whether the sessions behind a pooler have the settings of presagio."""
    name = "pooler"
    try:
        await database.require_current()
    except StorageOutdated as error:
        return Check(check=name, ok=False, detail=error.message, fix=error.fix)
    kept = database.pooler is not None and database.pooler.keeps_statements
    detail = (
        "sessions of PgBouncer or its like have the role's settings; prepared statements are "
        f"{'kept' if kept else 'not kept'}; backup needs the server"
    )
    return Check(check=name, ok=True, detail=detail)


async def _extensions_check(database: Database) -> Check:
    missing = await missing_extensions(database)
    detail = f"missing: {', '.join(missing)}" if missing else ", ".join(EXTENSIONS)
    fix = "Install PostgreSQL's contrib package, then run: presagio init" if missing else None
    return Check(check="extensions", ok=not missing, detail=detail, fix=fix)


async def _migrations_check(database: Database) -> Check:
    try:
        async with database.connection() as connection:
            pending = await migrate.check(connection)
    except PresagioError as error:
        return Check(check="migrations", ok=False, detail=error.message, fix=error.fix)
    known = len(migrate.available())
    detail = f"{len(pending)} of {known} have not run" if pending else f"{known} applied"
    fix = "Run: presagio init" if pending else None
    return Check(check="migrations", ok=not pending, detail=detail, fix=fix)


async def _pgvector_check(database: Database) -> Check:
    """Return a check whether vectors can be stored. Without them, searches go by words."""
    name, offered = "pgvector", await offered_extension(database, _PGVECTOR)
    if offered is None:
        fix = "Install pgvector 0.7 or newer on the server, to search by meaning as well"
        return Check(check=name, ok=None, detail="not on the server", fix=fix)
    version = offered.installed or offered.available
    if _numbers(version) < _OLDEST:
        fix = "Install 0.7 or newer on the server, then: ALTER EXTENSION vector UPDATE"
        return Check(check=name, ok=False, detail=f"{version} is too old", fix=fix)
    use = "" if offered.installed else ", installed with the first vectors"
    return Check(check=name, ok=True, detail=f"{version}{use}")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _rights(role: str) -> Check:
    return Check(
        check="rights",
        ok=False,
        detail=f"the role {role} does not own the tables: it may read, and store little or nothing",
        fix="Name the role that ran presagio init in DATABASE_URL",
    )


def _outdated(corpus: Corpus) -> Check:
    return Check(
        check=f"index of {corpus.name}",
        ok=None,
        detail="made by older rules: some texts may be missed",
        fix=f"Run: presagio corpora reindex {corpus.name}",
    )


async def _corpus_check(database: Database, corpus: Corpus) -> Check:
    wrong = await statistics_differ(database, corpus)
    return Check(
        check=f"corpus {corpus.name}",
        ok=not wrong,
        detail=wrong or f"{corpus.documents:,} documents, statistics exact",
        fix=f"Ingest it again after: presagio corpora drop {corpus.name}" if wrong else None,
    )


async def _vectors_check(settings: Settings, database: Database, corpora: list[Corpus]) -> Check:
    """Return a check with the share of each corpus that has vectors, by model."""
    name, coverage = "vectors", await ToEmbed(database).coverage()
    shares = [
        f"{corpus} {percent(share)} ({model})"
        for corpus, models in coverage.items()
        for model, share in models.items()
    ]
    detail = ", ".join(shares) or "none: texts are found by words"
    try:
        lacking = await _without_vectors(settings, database, corpora)
    except PresagioError as error:
        return Check(check=name, ok=False, detail=f"{detail}; {error.message}", fix=error.fix)
    if lacking is None:
        fix = "Run: pip install 'presagio[local]', or set [embeddings] backend"
        return Check(check=name, ok=None, detail=f"{detail}; no model is set up", fix=fix)
    if not lacking:
        return Check(check=name, ok=True if shares else None, detail=detail, fix=_first(shares))
    missing = ", ".join(f"{corpus} lacks {model}" for corpus, model in lacking.items())
    fix = "presagio serve makes what is missing a little at a time; at once: presagio embed"
    return Check(check=name, ok=None, detail=f"{detail}; {missing}", fix=fix)


def _first(shares: list[str]) -> str | None:
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


async def standby_checks(database: Database, max_lag: float) -> list[Check]:
    """Return a check for each standby, after a moment to replay what was written just now."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_REPLAY_SECONDS):
            while any(one.answers and not one.used for one in database.replicas()):  # noqa: ASYNC110 - a server tells nobody
                await asyncio.sleep(0.1)
    return [_standby_check(one, max_lag) for one in database.replicas()]


def _standby_check(one: ReplicaState, max_lag: float) -> Check:
    seconds = one.behind_seconds
    behind = "" if seconds is None else f"at most {seconds:.1f} s behind"
    fix = None
    if not one.used:
        fix = f"The database itself answers until it is at most {max_lag:g} s behind."
    elif not one.feedback:
        fix = "Set hot_standby_feedback = on there, or long reads are repeated elsewhere."
    detail = ", ".join(filter(None, [one.fault, behind]))
    return Check(check=f"standby {one.name}", ok=one.used, detail=detail, fix=fix)
