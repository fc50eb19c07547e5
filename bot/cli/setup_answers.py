"""What setup is told, by options or answers, and its checks against the services themselves."""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import typer
from pydantic import SecretStr

from bot.adapter import TokenRefused
from bot.checks import Setup, run_check
from bot.cli.ingest import IngestOptions, open_sources
from bot.cli.ingest_tables import consent_to_tables
from bot.cli.shared import (
    corpus_names,
    parse_account,
    parse_string,
    read_clock,
)
from bot.console.screen import Output
from bot.settings import Settings
from engine.errors import ModelRefused, ModelUnreachable, PresagioError, UnknownFormat
from engine.settings import Section

ACCESS = ("owner", "open")
_COPY_TOKEN = {
    "telegram": "Copy it whole from the message of @BotFather.",
    "slack": "Copy the bot token from OAuth & Permissions of the app at api.slack.com/apps, and the"
    " app token from its Basic Information.",
}
_ADDRESS = re.compile(r"https?://.+|(?:localhost|[\w-]+(?:\.[\w-]+)+|[\w-]+(?=:\d))(?::\d+)?/.*")


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

    @property
    def services(self) -> list[str]:
        """The services to set up."""
        tokens = {
            "model": self.model_key or self.model_url,
            "telegram": self.telegram_token,
            "slack": self.slack_bot_token,
        }
        return [name for name, token in tokens.items() if token]

    def apply_to(self, settings: Settings) -> Settings:
        """Return the settings as they will be once this is written."""
        secrets = {name.lower(): SecretStr(value) for name, value in self.secrets.items()}
        changed: dict[str, Section] = {"secrets": settings.secrets.model_copy(update=secrets)}
        for (section, key), value in self.settings.items():
            before = changed.get(section, getattr(settings, section))
            changed[section] = before.model_copy(update={key: value})
        return settings.model_copy(update=changed)


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
        await self.archive(wishes)
        for name in wishes.services:
            await self.service(name, wishes)

    async def archive(self, wishes: Wishes) -> None:
        """Recognise the files. Raises InputError, UsageError."""
        if not wishes.archive:
            return
        options = IngestOptions(author=wishes.author or None)
        try:
            async with open_sources(wishes.archive, options, self._settings.ingest) as sources:
                for source in sources:
                    self._output.remark(f"archive: {source.opened.name} is {source.opened.format}")
                has_no_person = not sys.stdin.isatty()
                self.zones = consent_to_tables(sources, yes=has_no_person, output=self._output)
        except UnknownFormat as error:
            if "--" not in str(error.fix):
                raise
            elsewhere = "These are options of presagio ingest: store this archive with it instead."
            raise UnknownFormat(error.message, fix=f"{error.fix} {elsewhere}") from error

    async def service(self, name: str, wishes: Wishes) -> None:
        """Ask a service, if it is to be set up. Raises ModelError, AdapterFailed."""
        if name not in wishes.services:
            return
        setup = Setup(settings=wishes.apply_to(self._settings), now=read_clock, asks_model=True)
        try:
            result = await run_check(name, setup)
        except (TokenRefused, ModelRefused, ModelUnreachable) as error:
            raise type(error)(
                error.message, fix=_fix_what_was_typed(name, setup, wishes, error)
            ) from error
        if result:
            self.names[name] = result.detail.partition(",")[0]
            self._output.remark(f"{name}: {result.detail}")


def _fix_what_was_typed(name: str, setup: Setup, wishes: Wishes, error: PresagioError) -> str:
    """Return what to do about what was typed, in place of settings that are not written yet."""
    if isinstance(error, TokenRefused):
        return _COPY_TOKEN[name]
    if isinstance(error, ModelRefused) and wishes.model_key:
        host = setup.settings.chat_endpoint().host
        return f"Copy the key whole from the pages of {host}, and look at its credit."
    if wishes.model_url:
        return "Check the address, the name of the model, and whether the server runs."
    return "Check the network."


def is_address(answer: str) -> bool:
    """Tell the address of a model, with or without http://, from a key, which may hold a slash and
    must be looked up nowhere."""
    return _ADDRESS.fullmatch(answer) is not None
