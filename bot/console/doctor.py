"""`presagio doctor`: what works, and what to do about what does not."""

from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass

from bot.app import has_model, llm_settings, open_database
from bot.console.output import Output
from bot.settings import Settings, masked_url
from db import migrate
from db.corpora import Corpora
from db.health import extensions, server_version, statistics_differ
from db.pool import Database
from engine.errors import PresagioError


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at. `ok` None means that it is not set up, which is no fault."""

    check: str
    ok: bool | None
    detail: str
    fix: str | None = None


async def doctor(settings: Settings, *, json: bool, output: Output) -> bool:
    """Write one line a check, as they come, and return True when nothing is wrong."""
    healthy = True
    async for check in _checks(settings, output):
        healthy = healthy and check.ok is not False
        if json:
            output.json(asdict(check))
        else:
            mark = {True: "ok", False: "FAIL", None: "--"}[check.ok]
            output.line(f"{mark:4} {check.check}: {check.detail}")
            if check.fix:
                output.line(f"     {check.fix}")
    return healthy


async def _checks(settings: Settings, output: Output) -> AsyncIterator[Check]:
    source = str(settings.config_file or "defaults and environment")
    yield Check(check="settings", ok=True, detail=source)
    url = settings.database.url.get_secret_value()
    place = masked_url(url) if url else f"embedded, in {settings.data_dir}"
    try:
        async with open_database(settings, progress=output.remark) as database:
            version = await server_version(database)
            yield Check(check="database", ok=True, detail=f"PostgreSQL {version}, {place}")
            async for check in _database_checks(database):
                yield check
    except PresagioError as error:
        yield Check(check="database", ok=False, detail=f"{place}: {error.message}", fix=error.fix)
    yield await _model_check(settings)


async def _database_checks(database: Database) -> AsyncIterator[Check]:
    missing = [name for name, version in (await extensions(database)).items() if not version]
    yield Check(
        check="extensions",
        ok=not missing,
        detail=f"missing: {', '.join(missing)}" if missing else "unaccent, pg_trgm",
        fix="Install PostgreSQL's contrib package, then run: presagio init" if missing else None,
    )
    async with database.connection() as connection:
        pending = await migrate.check(connection)
    if pending:
        detail = f"{len(pending)} of {len(migrate.available())} have not run"
        yield Check(check="migrations", ok=False, detail=detail, fix="Run: presagio init")
        return
    yield Check(check="migrations", ok=True, detail=f"{len(migrate.available())} applied")
    corpora = await Corpora(database).list()
    if not corpora:
        fix = "Load one with: presagio ingest FILE"
        yield Check(check="corpora", ok=None, detail="none yet", fix=fix)
    for corpus in corpora:
        wrong = await statistics_differ(database, corpus)
        yield Check(
            check=f"corpus {corpus.name}",
            ok=not wrong,
            detail=wrong or f"{corpus.documents:,} documents, statistics exact",
            fix=f"Drop and ingest it again: presagio corpora drop {corpus.name}" if wrong else None,
        )


async def _model_check(settings: Settings) -> Check:
    try:
        chosen = llm_settings(settings)
        if not has_model(chosen):
            return Check(
                check="model",
                ok=None,
                detail="none: answers are not judged",
                fix="Set OPENROUTER_API_KEY, or llm.base_url to a server of your own.",
            )
        # Imported here: an HTTP client that only this check needs.
        from engine.llm_check import check_endpoint  # noqa: PLC0415

        return Check(check="model", ok=True, detail=await check_endpoint(chosen))
    except PresagioError as error:
        return Check(check="model", ok=False, detail=error.message, fix=error.fix)
