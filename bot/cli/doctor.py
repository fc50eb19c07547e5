"""`presagio doctor`: checks what works, and suggests fixes for what does not."""

import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import asdict
from datetime import datetime, timedelta

import typer
from pydantic import SecretStr

from bot.cli.database_checks import database_checks, standby_checks
from bot.cli.machine_checks import (
    clock_check,
    disk_check,
    document_check,
    picture_check,
    port_check,
    public_address_check,
    tesseract_check,
)
from bot.cli.news_checks import Check
from bot.cli.shared import Json, now, settings_of
from bot.console.output import Output
from bot.database import bring_up_to_date, open_with_server
from bot.settings import Settings, masked_url
from bot.signals import run_until_signal
from db.corpus.health import server_time, server_version
from engine.errors import PresagioError


async def examine(
    settings: Settings, *, json: bool, output: Output, now: Callable[[], datetime]
) -> bool:
    """Run the checks, writing one line for each, and return True if none has failed."""
    faults = 0

    def report(check: Check) -> None:
        nonlocal faults
        faults += check.ok is False
        _write(check, json=json, output=output)

    source = str(settings.config_file or "defaults and environment")
    report(Check(check="settings", ok=True, detail=source))
    offsets: dict[str, timedelta] = {}
    await _check_database(settings, report, output, now, offsets)
    report(await _model_check(settings, now, offsets))
    report(await _web_search_check(settings, now()))
    report(await port_check(settings))
    if address := public_address_check(settings):
        report(address)
    for each in (picture_check(), document_check(), tesseract_check()):
        report(each)
    report(disk_check(settings.data_dir))
    report(clock_check(offsets))
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
    settings: Settings,
    report: Callable[[Check], None],
    output: Output,
    now: Callable[[], datetime],
    offsets: dict[str, timedelta],
) -> None:
    url = settings.database.url.get_secret_value()
    place = masked_url(url) if url else f"embedded, in {settings.data_dir}"
    try:
        async with open_with_server(settings, output.remark) as (database, server):
            for check in await standby_checks(database, settings.database.max_lag):
                report(check)
            version = await server_version(database)
            report(Check(check="database", ok=True, detail=f"PostgreSQL {version}, {place}"))
            if url:  # the embedded one has this machine's clock
                offsets["the database"] = now() - await server_time(database)
            else:  # as every other command does
                await bring_up_to_date(settings, database, server, output.remark)
            async for check in database_checks(settings, database, now()):
                report(check)
    except PresagioError as error:
        detail = f"{place}: {error.message}"
        report(Check(check="database", ok=False, detail=detail, fix=error.fix))


async def _model_check(
    settings: Settings, now: Callable[[], datetime], offsets: dict[str, timedelta]
) -> Check:
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

        answered = await check_endpoint(chosen)
        if answered.date:
            offsets[chosen.host] = now() - answered.date
        return Check(check="model", ok=True, detail=answered.line)
    except PresagioError as error:
        return Check(check="model", ok=False, detail=error.message, fix=error.fix)


async def _web_search_check(settings: Settings, now: datetime) -> Check:
    """Search once with each provider: keys and credits show in no other way."""
    name = "web search"
    if not settings.web_search.providers:
        fix = "Name one in [web_search] providers, to find what no corpus holds"
        return Check(check=name, ok=None, detail="none", fix=fix)
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
    """Check what works, and say how to fix what does not.

    ok works, -- is not set up, FAIL is broken: then the exit code is 1.

    Example: presagio doctor
    """
    if not run_until_signal(
        examine(settings_of(context), json=json, output=Output.of_process(), now=now)
    ):
        sys.exit(1)
