"""`presagio setup`: the questions, a check of each answer, and what is written at the end."""

import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING

from bot.cli.ingest_actions import IngestOptions, ingest_files, open_sources
from bot.cli.setup_checks import ACCESS, Checks, Wishes
from bot.cli.shared import confirm, now
from bot.commands.ownership import Ownership
from bot.console.output import Output
from bot.platforms import how_to_own, platforms_of
from bot.settings import Settings, load_settings
from bot.settings.sources import usual_place
from bot.settings.writing import (
    ENVIRONMENT_FILE,
    read_variables,
    with_setting,
    with_variable,
    write_whole,
)
from db.chat.access import Access
from db.chat.chats import Chats
from engine.errors import PresagioError, UsageError
from engine.types import CorpusRole

if TYPE_CHECKING:
    from bot.app import App

_ATTEMPTS = 3


async def set_up(wishes: Wishes, config: Path | None, *, output: Output) -> None:
    """Ask for what is missing, check everything, write it, and load the archive.

    Nothing is written unless all checks pass. Raises PresagioError.
    """
    from bot.app import open_app

    known = load_settings(config) if _exists(config) else load_settings()
    path = (config or known.config_file or usual_place()).absolute()
    if wishes.access and wishes.access not in ACCESS:
        raise UsageError("--access is owner or open.")
    checks = Checks(known, output)
    if sys.stdin.isatty():
        wishes = await _asked(wishes, known, checks)
    else:
        await checks.all(wishes)
    _write(path, wishes, output)
    settings = load_settings(path)
    async with open_app(settings, progress=output.remark, set_up=True) as app:
        await _load(app, wishes, output)
        await _tell_the_rest(app, wishes, checks.names, output)


def _exists(config: Path | None) -> bool:
    return config is not None and config.exists()


async def _asked(wishes: Wishes, known: Settings, checks: Checks) -> Wishes:
    """Return the wishes with answers to what they and the settings leave open."""
    await checks.all(wishes)
    if not wishes.archive:
        wishes = await _ask(
            lambda: replace(wishes, archive=_files(_line("Archive (file or folder; empty: none)"))),
            checks.archive,
            wishes,
        )
    if wishes.archive and not wishes.author:
        wishes = replace(wishes, author=_line("Account that wrote it, such as @ana").lstrip("@"))
    if wishes.archive and not wishes.name:
        wishes = replace(wishes, name=_line("Name that people know, such as Ana Ruiz"))
    if not (known.has_model() or wishes.model_key or wishes.model_url):
        wishes = await _ask(lambda: _model(wishes), checks.model, wishes)
    if not (platforms_of(known) or wishes.telegram_token or wishes.slack_bot_token):
        wishes = await _ask(
            lambda: replace(
                wishes, telegram_token=_secret("Telegram token of @BotFather (empty: none)")
            ),
            checks.telegram,
            wishes,
        )
        wishes = await _ask(lambda: _slack(wishes), checks.slack, wishes)
        answer = _line(
            "Who may use it: you and whom you let in (owner), or everybody (open) [owner]"
        )
        wishes = replace(wishes, access=answer if answer in ACCESS else "owner")
    return wishes


def _model(wishes: Wishes) -> Wishes:
    said = _secret("OpenRouter key, or address of Ollama's /v1 (empty: no model)")
    if said.startswith(("http://", "https://")):
        return replace(wishes, model_url=said, model=_line("Name of the model there"))
    return replace(wishes, model_key=said)


def _slack(wishes: Wishes) -> Wishes:
    bot = _secret("Slack bot token, xoxb-... (empty: none)")
    if not bot:
        return wishes
    return replace(
        wishes, slack_bot_token=bot, slack_app_token=_secret("Slack app token, xapp-...")
    )


def _files(said: str) -> tuple[str, ...]:
    return (str(Path(said).expanduser()),) if said else ()


async def _ask(
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


def _line(question: str) -> str:
    sys.stderr.write(f"{question}: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def _secret(question: str) -> str:
    """Ask without showing what is typed."""
    return getpass(f"{question}: ", stream=sys.stderr).strip()


def _write(path: Path, wishes: Wishes, output: Output) -> None:
    """Write what changes, after asking about values that are replaced. Raises SettingsError."""
    secrets = path.with_name(ENVIRONMENT_FILE)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    kept = secrets.read_text(encoding="utf-8") if secrets.exists() else ""
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
    variables = kept
    for name, value in wishes.secrets.items():
        variables = with_variable(variables, name, value)
    for place, old, new, mode in ((path, before, text, 0o644), (secrets, kept, variables, 0o600)):
        if new != old or not place.exists():
            write_whole(place, new, mode=mode)
            output.line(f"Wrote {place}")


async def _load(app: "App", wishes: Wishes, output: Output) -> None:
    """Store the archive and what its author is called. Raises as `ingest_files` does."""
    name = wishes.corpus
    if wishes.archive:
        options = IngestOptions(corpus=wishes.corpus, author=wishes.author or None)
        async with open_sources(wishes.archive, options, app.settings.ingest) as sources:
            name = await ingest_files(app, sources, options, output=output)
    if name and (wishes.name or wishes.author):
        await app.corpora.change(
            name, author=wishes.author or None, display_name=wishes.name or None
        )


async def _tell_the_rest(
    app: "App", wishes: Wishes, names: Mapping[str, str], output: Output
) -> None:
    """Write what is left to do."""
    if all(one.role is not CorpusRole.ARCHIVE for one in await app.corpora.list()):
        output.line("There is no archive yet: presagio ingest FILE --author HANDLE")
    platforms = platforms_of(app.settings)
    if not platforms:
        output.line("Try it here: presagio chat")
        return
    output.line("Run: presagio serve")
    ownership = Ownership(access=Access(app.database), chats=Chats(app.database))
    for platform in platforms:
        code = await ownership.code(platform, now=now(), again=wishes.new_owner)
        who = names.get(platform, f"the bot on {platform}")
        said = how_to_own(platform, code) if code else "Paste a headline."
        output.line(f"Then write to {who}. {said}")
