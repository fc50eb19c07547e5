"""`presagio setup`: its arguments."""

import shlex
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.adapter import TokenRefused
from bot.cli.ingest import IngestOptions, ingest_files, open_sources
from bot.cli.ingest_tables import consent_to_tables
from bot.cli.shared import (
    ask_line,
    confirm,
    corpus_names,
    parse_account,
    parse_string,
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
from db.chat.chats import Access, Chats
from engine.errors import ModelRefused, ModelUnreachable, PresagioError, UnknownFormat, UsageError
from engine.values import CorpusRole

if TYPE_CHECKING:
    from bot.app import App

ACCESS = ("owner", "open")
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What to set up; "" leaves it as it is."""

    archive: Annotated[
        list[str] | None,
        typer.Option(
            "--archive", metavar="<path>", help="File or folder of an export; repeatable."
        ),
    ] = None
    corpus: Annotated[
        str,
        typer.Option(
            "--corpus",
            "-c",
            autocompletion=corpus_names,
            help="Corpus that the archive fills.",
            callback=parse_string,
        ),
    ] = ""
    author: Annotated[
        str,
        typer.Option("--author", help="Account that wrote the archive.", callback=parse_account),
    ] = ""
    name: Annotated[
        str,
        typer.Option(
            "--name", help='How people know the author: "Ana Ruiz".', callback=parse_string
        ),
    ] = ""
    model_key: Annotated[
        str,
        typer.Option("--model-key", help="Key of OpenRouter, for judging.", callback=parse_string),
    ] = ""
    model_url: Annotated[
        str,
        typer.Option(
            "--model-url",
            help="Your own model server, such as Ollama's: http://127.0.0.1:11434/v1",
            callback=parse_string,
        ),
    ] = ""
    model: Annotated[
        str, typer.Option("--model", help="Name of the model.", callback=parse_string)
    ] = ""
    telegram_token: Annotated[
        str,
        typer.Option("--telegram-token", help="Token that @BotFather gave.", callback=parse_string),
    ] = ""
    slack_bot_token: Annotated[
        str, typer.Option("--slack-bot-token", help="xoxb-...", callback=parse_string)
    ] = ""
    slack_app_token: Annotated[
        str, typer.Option("--slack-app-token", help="xapp-...", callback=parse_string)
    ] = ""
    access: Annotated[
        str,
        typer.Option(
            "--access", help="owner: whom you let in; open: everybody.", callback=parse_string
        ),
    ] = ""
    new_owner: Annotated[
        bool, typer.Option("--new-owner", help="Show a code that replaces the owner.")
    ] = False
    yes: Annotated[
        bool, typer.Option("--yes", help="Replace settings that have another value.")
    ] = False

    @property
    def settings(self) -> Mapping[tuple[str, str], str]:
        """The settings to write, by section and key."""
        wanted = {
            ("llm", "base_url"): self.model_url,
            ("llm", "model"): self.model,
            ("chat", "access"): self.access,
        }
        return {place: value for place, value in wanted.items() if value}

    @property
    def secrets(self) -> Mapping[str, str]:
        """The secrets to write, by their variables."""
        wanted = {
            "OPENROUTER_API_KEY": self.model_key,
            "TELEGRAM_BOT_TOKEN": self.telegram_token,
            "SLACK_BOT_TOKEN": self.slack_bot_token,
            "SLACK_APP_TOKEN": self.slack_app_token,
        }
        return {name: value for name, value in wanted.items() if value}


class Checks:
    """Checks answers against the services themselves.

    `names` is what the bots are called, `zones` the time zones of archives that were asked for.
    """

    def __init__(self, settings: Settings, output: Output) -> None:
        self._settings = settings
        self._output = output
        self.names: dict[str, str] = {}
        self.zones: Mapping[str, str] = {}

    async def all(self, wishes: Wishes) -> None:
        """Check everything that is to be set. Raises PresagioError."""
        for check in (self.archive, self.model, self.telegram, self.slack):
            await check(wishes)

    async def archive(self, wishes: Wishes) -> None:
        """Recognise the files. Raises InputError, UsageError."""
        if not wishes.archive:
            return
        options = IngestOptions(author=wishes.author or None)
        try:
            async with open_sources(wishes.archive, options, self._settings.ingest) as sources:
                for source in sources:
                    self._output.remark(f"archive: {source.name} is {source.format}")
                has_no_person = not sys.stdin.isatty()
                self.zones = consent_to_tables(sources, yes=has_no_person, output=self._output)
        except UnknownFormat as error:
            if "--" not in str(error.fix):
                raise
            elsewhere = "These are options of presagio ingest: store this archive with it instead."
            raise UnknownFormat(error.message, fix=f"{error.fix} {elsewhere}") from error

    async def model(self, wishes: Wishes) -> None:
        """Ask the model for a word. Raises ModelError."""
        if not (wishes.model_key or wishes.model_url):
            return
        from engine.llm.endpoint import chat_endpoint
        from engine.llm.transport import check_model

        changed = {"base_url": wishes.model_url, "model": wishes.model}
        llm = self._settings.llm.model_copy(update={k: v for k, v in changed.items() if v})
        endpoint = chat_endpoint(llm, wishes.model_key or None)
        unanswered = "Check the network."
        if wishes.model_url:
            unanswered = "Check the address, the name of the model, and whether the server runs."
        copied = f"Copy the key whole from the pages of {endpoint.host}, and look at its credit."
        refused = copied if wishes.model_key else unanswered
        with _fixed_by(ModelUnreachable, unanswered), _fixed_by(ModelRefused, refused):
            self._output.remark(f"model: {await check_model(endpoint)}")

    async def telegram(self, wishes: Wishes) -> None:
        """Ask Telegram who the bot is. Raises AdapterFailed."""
        if wishes.telegram_token:
            from bot.telegram.client import check_telegram

            chosen = self._settings.telegram
            with _fixed_by(TokenRefused, "Copy it whole from the message of @BotFather."):
                found = await check_telegram(
                    wishes.telegram_token, chosen.api_base, chosen.webhook_url
                )
            self.names["telegram"] = found.partition(",")[0]
            self._output.remark(f"telegram: {found}")

    async def slack(self, wishes: Wishes) -> None:
        """Ask Slack who the bot is. Raises AdapterFailed."""
        if wishes.slack_bot_token:
            from bot.slack.client import check_slack

            base = self._settings.slack.api_base
            with _fixed_by(
                TokenRefused,
                "Copy the bot token from OAuth & Permissions of the app at api.slack.com/apps, and"
                " the app token from its Basic Information.",
            ):
                found = await check_slack(wishes.slack_bot_token, wishes.slack_app_token, "", base)
            self.names["slack"] = found.partition(",")[0]
            self._output.remark(f"slack: {found}")


@contextmanager
def _fixed_by(refusal: type[PresagioError], fix: str) -> Iterator[None]:
    """Say what to do about what was typed, in place of settings that are not written yet."""
    try:
        yield
    except refusal as error:
        raise type(error)(error.message, fix=fix) from error


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


async def _ask_wishes(wishes: Wishes, known: Settings, checks: Checks) -> Wishes:
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
    if not (known.has_model() or wishes.model_key or wishes.model_url):
        wishes = await _ask_person(lambda: _ask_for_model(wishes), checks.model, wishes)
    if not (list_platforms(known) or wishes.telegram_token or wishes.slack_bot_token):
        wishes = await _ask_person(
            lambda: replace(
                wishes, telegram_token=_ask_secret("Telegram token of @BotFather (empty: none)")
            ),
            checks.telegram,
            wishes,
        )
        wishes = await _ask_person(lambda: _ask_for_slack(wishes), checks.slack, wishes)
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
    if "/" in answer:
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


async def _load_archive(
    app: "App", wishes: Wishes, zones: Mapping[str, str], output: Output
) -> None:
    """Store the archive and what its author is called. Raises as `ingest_files` does."""
    name = wishes.corpus
    if wishes.archive:
        options = IngestOptions(corpus=wishes.corpus, author=wishes.author or None)
        async with open_sources(wishes.archive, options, app.settings.ingest) as sources:
            for source in sources:
                if source.name in zones:
                    source.read_times_in(zones[source.name])
            name = await ingest_files(app, sources, options, output=output)
    if name and (wishes.name or wishes.author):
        await app.corpora.change(
            name, author=wishes.author or None, display_name=wishes.name or None
        )


async def _tell_the_rest(
    app: "App", wishes: Wishes, names: Mapping[str, str], output: Output
) -> None:
    """Write what is left to do."""
    if all(corpus.role is not CorpusRole.ARCHIVE for corpus in await app.corpora.list()):
        output.line("There is no archive yet: presagio ingest FILE --author HANDLE")
    platforms = list_platforms(app.settings)
    if not platforms:
        output.line("Try it here: presagio chat")
        return
    output.line("Run: presagio serve")
    ownership = Ownership(access=Access(app.database), chats=Chats(app.database))
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
    known = load_settings(config) if config and config.exists() else load_settings()
    run_until_signal(set_up(options, config, known, output=Output.of_process()))
