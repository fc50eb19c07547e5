"""`presagio doctor`: checks what works, and suggests fixes for what does not."""

import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from datetime import datetime

import typer

from bot.checks import CHECKS, Result, Setup, run_check
from bot.cli.database_checks import check_database
from bot.cli.shared import Json, read_clock, settings_of
from bot.console.screen import Output
from bot.database import bring_up_to_date, open_with_server
from bot.settings import Settings, masked_url
from bot.signals import run_until_signal
from db.corpus.health import server_time, server_version
from engine.errors import PresagioError


async def run_checks(
    settings: Settings, *, json: bool, output: Output, now: Callable[[], datetime]
) -> bool:
    """Run the checks, writing one line for each, and return True if none has failed."""
    faults, setup = 0, Setup(settings=settings, now=now)
    async for name, result in _list_results(setup, output):
        faults += result.ok is False
        _write_result(name, result, json=json, output=output)
    return not faults


async def _list_results(setup: Setup, output: Output) -> AsyncIterator[tuple[str, Result]]:
    source = str(setup.settings.config_file or "defaults and environment")
    yield "settings", Result(ok=True, detail=source)
    async for named in _open_and_check_database(setup, output):
        yield named
    for name in CHECKS:
        try:
            result = await run_check(name, setup)
        except PresagioError as error:
            result = Result.of_error(error)
        if result:
            yield name, result


def _write_result(name: str, result: Result, *, json: bool, output: Output) -> None:
    if json:
        output.json({"check": name, **asdict(result)})
        return
    mark = {True: "ok", False: "FAIL", None: "--"}[result.ok]
    output.line(f"{mark:4} {name}: {result.detail}")
    if result.fix:
        output.line(f"     {result.fix}")


async def _open_and_check_database(
    setup: Setup, output: Output
) -> AsyncIterator[tuple[str, Result]]:
    settings, name = setup.settings, "database"
    url = settings.database.url.get_secret_value()
    place = masked_url(url) if url else f"embedded, in {settings.data_dir}"
    try:
        async with open_with_server(settings, output.remark) as (database, server):
            version = await server_version(database)
            yield name, Result(ok=True, detail=f"PostgreSQL {version}, {place}")
            if url:  # the embedded one has this machine's clock
                setup.offsets["the database"] = setup.now() - await server_time(database)
            else:  # as every other command does
                await bring_up_to_date(settings, database, server, output.remark)
            async for named in check_database(settings, database, setup.now()):
                yield named
    except PresagioError as error:
        yield name, Result.of_error(error, f"{place}: ")


def command(context: typer.Context, json: Json = False) -> None:
    """Check what works, and say how to fix what does not.

    ok works, -- is not set up, FAIL is broken: then the exit code is 1.

    Example: presagio doctor
    """
    if not run_until_signal(
        run_checks(settings_of(context), json=json, output=Output.of_process(), now=read_clock)
    ):
        sys.exit(1)
