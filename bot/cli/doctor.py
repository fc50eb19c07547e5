"""`presagio doctor`: checks what works, and suggests fixes for what does not."""

import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import asdict
from datetime import datetime
from importlib.util import find_spec

import typer
from pydantic import SecretStr

from bot.card import can_draw
from bot.cli.news_checks import Check, news_checks
from bot.cli.shared import Json, now, settings_of
from bot.cli.standby_checks import standby_checks
from bot.console.output import Output
from bot.database import open_database
from bot.settings import Settings, masked_url
from bot.signals import run_until_signal
from db import migrate
from db.corpus.corpora import Corpora
from db.corpus.health import EXTENSIONS, missing_extensions, server_version, statistics_differ
from db.pool import Database
from db.search.unembedded import ToEmbed
from engine.errors import PresagioError
from engine.ingest.parsers.ocr import Ocr
from engine.vectors import percent

_DOCUMENT_LIBRARIES = ("pypdfium2", "mammoth", "trafilatura")
_Report = Callable[[Check], None]


async def examine(settings: Settings, *, json: bool, output: Output, now: datetime) -> bool:
    """Run the checks, writing one line for each, and return True if none has failed."""
    faults = 0

    def report(check: Check) -> None:
        nonlocal faults
        faults += check.ok is False
        _write(check, json=json, output=output)

    source = str(settings.config_file or "defaults and environment")
    report(Check(check="settings", ok=True, detail=source))
    await _check_database(settings, report, output, now)
    report(await _model_check(settings))
    report(await _web_search_check(settings, now))
    report(_picture_check())
    report(_document_check())
    for check in await _face_checks(settings):
        report(check)
    return not faults


def _write(check: Check, *, json: bool, output: Output) -> None:
    if json:
        output.json(asdict(check))
        return
    mark = {True: "ok", False: "FAIL", None: "--"}[check.ok]
    output.line(f"{mark:4} {check.check}: {check.detail}")
    if check.fix:
        output.line(f"     {check.fix}")


async def _check_database(
    settings: Settings, report: _Report, output: Output, now: datetime
) -> None:
    url = settings.database.url.get_secret_value()
    place = masked_url(url) if url else f"embedded, in {settings.data_dir}"
    try:
        async with open_database(settings, progress=output.remark) as database:
            for check in await standby_checks(database, settings.database.max_lag):
                report(check)
            version = await server_version(database)
            report(Check(check="database", ok=True, detail=f"PostgreSQL {version}, {place}"))
            if not url:  # as every other command does
                await database.migrate()
            if await _check_migrations(database, report):
                await _check_corpora(database, report)
                report(await _vectors_check(database))
                for check in await news_checks(database, now):
                    report(check)
    except PresagioError as error:
        detail = f"{place}: {error.message}"
        report(Check(check="database", ok=False, detail=detail, fix=error.fix))


async def _check_migrations(database: Database, report: _Report) -> bool:
    """Report on extensions and migrations, and return True if the tables can be read."""
    missing = await missing_extensions(database)
    detail = f"missing: {', '.join(missing)}" if missing else ", ".join(EXTENSIONS)
    fix = "Install PostgreSQL's contrib package, then run: presagio init" if missing else None
    report(Check(check="extensions", ok=not missing, detail=detail, fix=fix))
    try:
        async with database.connection() as connection:
            pending = await migrate.check(connection)
    except PresagioError as error:
        report(Check(check="migrations", ok=False, detail=error.message, fix=error.fix))
        return False
    known = len(migrate.available())
    detail = f"{len(pending)} of {known} have not run" if pending else f"{known} applied"
    fix = "Run: presagio init" if pending else None
    report(Check(check="migrations", ok=not pending, detail=detail, fix=fix))
    return not pending


async def _check_corpora(database: Database, report: _Report) -> None:
    corpora = await Corpora(database).list()
    if not corpora:
        fix = "Load one with: presagio ingest FILE"
        report(Check(check="corpora", ok=None, detail="none yet", fix=fix))
    for corpus in corpora:
        wrong = await statistics_differ(database, corpus)
        if corpus.outdated:
            report(
                Check(
                    check=f"index of {corpus.name}",
                    ok=None,
                    detail="made by older rules: some texts may be missed",
                    fix=f"Run: presagio corpora reindex {corpus.name}",
                )
            )
        report(
            Check(
                check=f"corpus {corpus.name}",
                ok=not wrong,
                detail=wrong or f"{corpus.documents:,} documents, statistics exact",
                fix=f"Ingest it again after: presagio corpora drop {corpus.name}"
                if wrong
                else None,
            )
        )


async def _vectors_check(database: Database) -> Check:
    """Return a check with the share of each corpus that has vectors, by model."""
    coverage = await ToEmbed(database).coverage()
    shares = [
        f"{corpus} {percent(share)} ({model})"
        for corpus, models in coverage.items()
        for model, share in models.items()
    ]
    if not shares:
        return Check(check="vectors", ok=None, detail="none: texts are found by words")
    lacking = any(share < 1 for models in coverage.values() for share in models.values())
    fix = (
        "presagio serve makes what the model of the settings lacks; so does: presagio embed"
        if lacking
        else None
    )
    return Check(check="vectors", ok=None if lacking else True, detail=", ".join(shares), fix=fix)


async def _model_check(settings: Settings) -> Check:
    try:
        chosen = settings.chat_endpoint()
        if not chosen.can_be_asked:
            return Check(
                check="model",
                ok=None,
                detail="none: answers are not judged",
                fix="Set OPENROUTER_API_KEY, or llm.base_url to a server of your own.",
            )
        # Imported here because only this check needs an HTTP client.
        from engine.llm.check import check_endpoint

        return Check(check="model", ok=True, detail=await check_endpoint(chosen))
    except PresagioError as error:
        return Check(check="model", ok=False, detail=error.message, fix=error.fix)


async def _web_search_check(settings: Settings, now: datetime) -> Check:
    """Search once with each provider: keys and credits show in no other way."""
    name = "web search"
    if not settings.web_search.providers:
        return Check(check=name, ok=None, detail="none: only what the corpora hold is found")
    from bot.evidence import search_clients
    from engine.page.article import require_libraries

    try:
        async with AsyncExitStack() as stack:
            for client in (clients := search_clients(settings)):
                stack.push_async_callback(client.aclose)
            for client in clients:
                await client.search("presagio", limit=1, now=now)
        require_libraries()
    except PresagioError as error:
        return Check(check=name, ok=False, detail=error.message, fix=error.fix)
    return Check(check=name, ok=True, detail=", ".join(client.name for client in clients))


def _picture_check() -> Check:
    if can_draw():
        return Check(check="pictures", ok=True, detail="can be drawn")
    fix = "Run: pip install 'presagio[pictures]'"
    return Check(check="pictures", ok=None, detail="cannot be drawn", fix=fix)


def _document_check() -> Check:
    missing = [name for name in _DOCUMENT_LIBRARIES if find_spec(name) is None]
    if missing:
        fix = "Run: pip install 'presagio[documents]'"
        return Check(check="documents", ok=None, detail="PDF and Word are not read", fix=fix)
    if not Ocr().available:
        fix = "Install tesseract and the data of your languages"
        return Check(check="documents", ok=None, detail="scans are not read", fix=fix)
    return Check(check="documents", ok=True, detail="can be read, scans too")


async def _face_checks(settings: Settings) -> list[Check]:
    """Check the faces whose tokens are set, importing only their libraries. None is required."""
    secrets, checks = settings.secrets, []
    if token := secrets.telegram_bot_token:
        from bot.telegram.client import check_telegram

        telegram = settings.telegram
        asked = check_telegram(token.get_secret_value(), telegram.api_base, telegram.webhook_url)
        checks.append(await _face_check("telegram", asked))
    if token := secrets.slack_bot_token:
        from bot.slack.client import check_slack

        asked = check_slack(
            token.get_secret_value(),
            _plain(secrets.slack_app_token),
            _plain(secrets.slack_signing_secret),
            settings.slack.api_base,
        )
        checks.append(await _face_check("slack", asked))
    return checks


async def _face_check(name: str, asked: Awaitable[str]) -> Check:
    try:
        return Check(check=name, ok=True, detail=await asked)
    except PresagioError as error:
        return Check(check=name, ok=False, detail=error.message, fix=error.fix)


def _plain(secret: SecretStr | None) -> str:
    return secret.get_secret_value() if secret else ""


def command(context: typer.Context, json: Json = False) -> None:
    """Check settings, database, model endpoint, chat platforms, feeds, jobs and what is owed.

    Example: presagio doctor
    """
    if not run_until_signal(
        examine(settings_of(context), json=json, output=Output.of_process(), now=now())
    ):
        sys.exit(1)
