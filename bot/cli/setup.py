"""`presagio setup`: asks for what is missing, and writes it."""

import re
import shlex
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import SecretStr

from bot.adapter import TokenRefused
from bot.cli.checks import Setup, run_check
from bot.cli.ingest import IngestOptions, ingest_files, open_sources
from bot.cli.ingest_sources import consent_to_tables
from bot.cli.shared import (
    CorpusOption,
    TextOption,
    ask_line,
    confirm,
    parse_account,
    read_clock,
    spread_options,
)
from bot.commands.rights import Ownership
from bot.console.screen import Output
from bot.platforms import Platform, find_platforms, how_to_own, list_platforms
from bot.settings import Settings, load_settings
from bot.settings.sources import ENVIRONMENT_FILE, read_variables, usual_place
from bot.settings.writing import with_setting, with_variable, write_whole
from bot.signals import exit_while_asking, run_until_signal
from engine.corpora import NO_ARCHIVE, holds_archive
from engine.errors import ModelRefused, ModelUnreachable, PresagioError, UnknownFormat, UsageError
from engine.settings import Section

if TYPE_CHECKING:
    from bot.app import App

_ATTEMPTS = 3
ACCESS = ("owner", "open")
_TOKENS = [token for platform in find_platforms().values() for token in platform.tokens]
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
    corpus: Annotated[str, CorpusOption(help="Corpus that the archive fills.")] = ""
    author: Annotated[
        str,
        typer.Option("--author", help="Account that wrote the archive.", callback=parse_account),
    ] = ""
    name: Annotated[str, TextOption("--name", help='How people know the author: "Ana Ruiz".')] = ""
    model_key: Annotated[str, TextOption("--model-key", help="Key of OpenRouter, for judging.")] = (
        ""
    )
    model_url: Annotated[
        str,
        TextOption(
            "--model-url", help="Your own model server, such as Ollama's: http://127.0.0.1:11434/v1"
        ),
    ] = ""
    model: Annotated[str, TextOption("--model", help="Name of the model.")] = ""
    # Of the platforms, by their variables.
    tokens: Mapping[str, str] = field(
        default_factory=dict,
        metadata={
            "options": {
                token.variable: Annotated[str, TextOption(token.option, help=token.help)]
                for token in _TOKENS
            }
        },
    )
    access: Annotated[
        str, TextOption("--access", help="owner: whom you let in; open: everybody.")
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
        wanted = {"OPENROUTER_API_KEY": self.model_key, **self.tokens}
        return {name: value for name, value in wanted.items() if value}

    @property
    def services(self) -> list[str]:
        """The services to set up."""
        model = ["model"] if self.model_key or self.model_url else []
        return model + self.platforms

    @property
    def platforms(self) -> list[str]:
        """The platforms to set up."""
        platforms = find_platforms()
        return [name for name in platforms if self.tokens.get(platforms[name].tokens[0].variable)]

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
        return find_platforms()[name].tokens_from
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
    async with open_app(settings, progress=output.remark, migrate=True) as app:
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
    if not (list_platforms(settings) or wishes.platforms):
        for name, platform in find_platforms().items():
            wishes = await _ask_person(
                partial(_ask_for_tokens, platform, wishes), partial(checks.service, name), wishes
            )
        if wishes.platforms and not wishes.access:
            question = (
                "Who may use it: you and whom you let in (owner), or everybody (open) [owner]"
            )
            while (answer := _ask_text(question).lower() or ACCESS[0]) not in ACCESS:
                Output.of_process().remark("Write owner or open.")
            wishes = replace(wishes, access=answer)
    return wishes


def _ask_for_model(wishes: Wishes) -> Wishes:
    answer = _ask_secret("OpenRouter key, or address of Ollama's /v1 (empty: no model)")
    if is_address(answer):
        url = answer if "://" in answer else f"http://{answer}"
        return replace(wishes, model_url=url, model=_ask_text("Name of the model there"))
    return replace(wishes, model_key=answer)


def _ask_for_tokens(platform: Platform, wishes: Wishes) -> Wishes:
    """Ask for each token of a platform; without the first, it is not set up."""
    first, *others = platform.tokens
    answered = {first.variable: _ask_secret(first.question)}
    if answered[first.variable]:
        answered |= {token.variable: _ask_secret(token.question) for token in others}
    return replace(wishes, tokens={**wishes.tokens, **answered})


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
                    source.set_time_zone(zones[source.opened.name])
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
    if not holds_archive(await app.corpora.list()):
        output.line(NO_ARCHIVE)
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


@spread_options
def command(context: typer.Context, options: Wishes) -> None:
    """Ask for what is missing, check it, and write the configuration.

    That is config.toml, and presagio.env for secrets.

    Without a terminal, the options say everything. May be run again at any time.

    Example: presagio setup --archive twitter-2024.zip --corpus me
    """
    config: Path | None = context.obj
    settings = load_settings(config) if config and config.exists() else load_settings()
    run_until_signal(set_up(options, config, settings, output=Output.of_process()))
