"""`presagio setup`: asks for what is missing, and writes it."""

import shlex
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bot.checks import check_archives
from bot.cli.ingest import IngestOptions, ingest_files, open_sources
from bot.cli.setup_answers import ACCESS, Checks, Wishes, is_address
from bot.cli.shared import (
    ask_line,
    confirm,
    read_clock,
    spread_options,
)
from bot.commands.rights import Ownership
from bot.console.screen import Output
from bot.platforms import how_to_own, list_platforms
from bot.settings import Settings, load_settings
from bot.settings.sources import ENVIRONMENT_FILE, read_variables, usual_place
from bot.settings.writing import with_setting, with_variable, write_whole
from bot.signals import exit_while_asking, run_until_signal
from engine.errors import PresagioError, UsageError

if TYPE_CHECKING:
    from bot.app import App

_ATTEMPTS = 3


async def set_up(wishes: Wishes, config: Path | None, known: Settings, *, output: Output) -> None:
    """Ask for what is missing, check everything, write it, and load the archive.

    Nothing is written unless all checks pass. Raises PresagioError.
    """
    from bot.app import open_app

    path = (config or known.config_file or usual_place()).absolute()
    if wishes.access and wishes.access not in ACCESS:
        raise UsageError("--access is owner or open.")
    checks = Checks(known, output)
    if sys.stdin.isatty():
        wishes = await _ask_wishes(wishes, known, checks)
    else:
        await checks.all(wishes)
    _write_wishes(path, wishes, output)
    settings = load_settings(path)
    async with open_app(settings, progress=output.remark, set_up=True) as app:
        await _load_archive(app, wishes, checks.zones, output)
        await _tell_the_rest(app, wishes, checks.names, output)


async def _ask_wishes(wishes: Wishes, settings: Settings, checks: Checks) -> Wishes:
    """Return the wishes with answers to what they and the settings leave open."""
    await checks.all(wishes)
    if not wishes.archive:
        wishes = await _ask_person(
            lambda: replace(
                wishes, archive=_list_files(_ask_text("Archive (file or folder; empty: none)"))
            ),
            checks.archive,
            wishes,
        )
    if wishes.archive and not wishes.author:
        wishes = replace(
            wishes, author=_ask_text("Account that wrote it, such as @ana").lstrip("@")
        )
    if wishes.archive and not wishes.name:
        wishes = replace(wishes, name=_ask_text("Name that people know, such as Ana Ruiz"))
    if not (settings.has_model() or wishes.model_key or wishes.model_url):
        wishes = await _ask_person(
            lambda: _ask_for_model(wishes), partial(checks.service, "model"), wishes
        )
    if not (list_platforms(settings) or wishes.telegram_token or wishes.slack_bot_token):
        wishes = await _ask_person(
            lambda: replace(
                wishes, telegram_token=_ask_secret("Telegram token of @BotFather (empty: none)")
            ),
            partial(checks.service, "telegram"),
            wishes,
        )
        wishes = await _ask_person(
            lambda: _ask_for_slack(wishes), partial(checks.service, "slack"), wishes
        )
        if wishes.telegram_token or wishes.slack_bot_token:
            wishes = replace(wishes, access=wishes.access or _ask_access())
    return wishes


def _ask_access() -> str:
    question = "Who may use it: you and whom you let in (owner), or everybody (open) [owner]"
    while (answer := _ask_text(question).lower() or ACCESS[0]) not in ACCESS:
        Output.of_process().remark("Write owner or open.")
    return answer


def _ask_for_model(wishes: Wishes) -> Wishes:
    answer = _ask_secret("OpenRouter key, or address of Ollama's /v1 (empty: no model)")
    if is_address(answer):
        url = answer if "://" in answer else f"http://{answer}"
        return replace(wishes, model_url=url, model=_ask_text("Name of the model there"))
    return replace(wishes, model_key=answer)


def _ask_for_slack(wishes: Wishes) -> Wishes:
    bot = _ask_secret("Slack bot token, xoxb-... (empty: none)")
    if not bot:
        return wishes
    return replace(
        wishes, slack_bot_token=bot, slack_app_token=_ask_secret("Slack app token, xapp-...")
    )


def _list_files(path: str) -> list[str]:
    """Return a path as it was typed, or as a terminal writes a file that is dropped on it."""
    if not Path(path).expanduser().exists():
        with suppress(ValueError):  # of no path in quotes
            [path] = shlex.split(path)
    return [str(Path(path).expanduser())] if path else []


async def _ask_person(
    question: Callable[[], Wishes], check: Callable[[Wishes], Awaitable[None]], before: Wishes
) -> Wishes:
    """Ask until the check passes, at most three times; then leave it as it was."""
    for _ in range(_ATTEMPTS):
        answered = question()
        try:
            await check(answered)
        except PresagioError as error:
            Output.of_process().remark(str(error))
        else:
            return answered
    Output.of_process().remark("Left out. Run presagio setup again for it.")
    return before


def _ask_text(question: str) -> str:
    return ask_line(f"{question}: ")


def _ask_secret(question: str) -> str:
    """Ask without showing what is typed."""
    with exit_while_asking(), suppress(EOFError):  # Ctrl-D, which is no answer
        return getpass(f"{question}: ", stream=sys.stderr).strip()
    return ""


def _write_wishes(path: Path, wishes: Wishes, output: Output) -> None:
    """Write what changes, after asking about values that are replaced. Raises SettingsError."""
    secrets = path.with_name(ENVIRONMENT_FILE)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    previous = secrets.read_text(encoding="utf-8") if secrets.exists() else ""
    replaced = [
        name
        for name, value in read_variables(path).items()
        if wishes.secrets.get(name, value) != value
    ]
    settings = load_settings(path) if path.exists() else None
    for (section, key), value in wishes.settings.items():
        old = getattr(getattr(settings, section), key) if settings and key in before else value
        replaced += [f"[{section}] {key}"] if old != value else []
    if replaced and not wishes.yes:
        confirm(f"{', '.join(replaced)} has another value. Replace it?")
    text = before
    for (section, key), value in wishes.settings.items():
        text = with_setting(text, section, key, value)
    variables = previous
    for name, value in wishes.secrets.items():
        variables = with_variable(variables, name, value)
    for place, old, new, mode in (
        (path, before, text, 0o644),
        (secrets, previous, variables, 0o600),
    ):
        if new != old or not place.exists():
            write_whole(place, new, mode=mode)
            output.line(f"Wrote {place}")


async def _load_archive(
    app: "App", wishes: Wishes, zones: Mapping[str, str], output: Output
) -> None:
    """Store the archive and what its author is called. Raises as `ingest_files` does."""
    names = [wishes.corpus] if wishes.corpus else []
    if wishes.archive:
        options = IngestOptions(corpus=wishes.corpus, author=wishes.author or None)
        async with open_sources(wishes.archive, options, app.settings.ingest) as sources:
            for source in sources:
                if source.opened.name in zones:
                    source.read_times_in(zones[source.opened.name])
            names = await ingest_files(app, sources, options, output=output)
    if wishes.name or wishes.author:
        for name in names:
            await app.corpora.change(
                name, author=wishes.author or None, display_name=wishes.name or None
            )


async def _tell_the_rest(
    app: "App", wishes: Wishes, names: Mapping[str, str], output: Output
) -> None:
    """Write what is left to do."""
    if missing := check_archives(await app.corpora.list()):
        output.line(f"There is {missing.detail}. {missing.fix}")
    platforms = list_platforms(app.settings)
    if not platforms:
        output.line("Try it here: presagio chat")
        return
    output.line("Run: presagio serve")
    ownership = Ownership(app)
    for platform in platforms:
        code = await ownership.code(platform, now=read_clock(), again=wishes.new_owner)
        who = names.get(platform, f"the bot on {platform}")
        own = code and how_to_own(platform, code, bot=who)
        output.line(own or f"Then paste a headline to {who}.")


@spread_options(Wishes)
def command(context: typer.Context, options: Wishes) -> None:
    """Ask for what is missing, check it, and write the configuration.

    That is config.toml, and presagio.env for secrets.

    Without a terminal, the options say everything. May be run again at any time.

    Example: presagio setup --archive twitter-2024.zip --corpus me
    """
    config: Path | None = context.obj
    settings = load_settings(config) if config and config.exists() else load_settings()
    run_until_signal(set_up(options, config, settings, output=Output.of_process()))
