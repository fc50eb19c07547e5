"""`presagio webhooks`: how the webhooks of the settings fare, a test, and turning one on again."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from bot.adapter import DeliveryError
from bot.cli.shared import Json, app_command, parse_string, run_in_app
from bot.console.screen import Output
from bot.i18n.words import words_for
from bot.reply import Event, Reply
from bot.settings import Settings
from bot.settings.sections import WebhookSettings
from db.chat.chats import Chats
from engine.chat import WEBHOOKS, Chat
from engine.errors import InputError, PresagioError

if TYPE_CHECKING:
    from bot.app import App
    from bot.webhooks import WebhookState

commands = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    help="Show how webhooks fare, test them, and turn them on again.\n\n"
    "They are named by [[webhooks]] in the settings; presagio serve and presagio run-once send"
    " to them.\n\n"
    "Example: presagio webhooks",
)

HookName = Annotated[str, typer.Argument(help="Name of the webhook.", callback=parse_string)]


@commands.callback()
def webhooks_alone(context: typer.Context, json: Json = False) -> None:
    """List the webhooks when no command is named."""
    if context.invoked_subcommand is None:
        run_in_app(context, list_webhooks, json=json, output=Output.of_process())


@app_command(commands, "list")
async def list_webhooks(app: "App", *, json: Json = False, output: Output) -> None:
    """List the webhooks of the settings, with how they fare.

    Example: presagio webhooks list
    """
    from bot.webhooks import webhook_states

    states = await webhook_states(app.database, app.settings.webhooks)
    if not states and not json:
        output.line("The settings name no webhook; see [[webhooks]] in config.example.toml.")
    for state in states:
        if json:
            output.json(asdict(state))
            continue
        for line in _describe_webhook(state):
            output.line(line)


def _describe_webhook(state: "WebhookState") -> Iterator[str]:
    when = f", last {state.last_sent_at:%Y-%m-%d %H:%M}Z" if state.last_sent_at else ""
    counts = f"{state.sent:,} sent{when}, {state.owed:,} owed, {state.failed:,} given up"
    yield (
        f"{state.name} ({state.host}): {counts}"
        if state.known
        else (f"{state.name} ({state.host}): waits for presagio serve")
    )
    if not state.active:
        yield f"  Its receiver wants no more events. Run: presagio webhooks resume {state.name}"
    if state.last_error:
        yield f"  Last error: {state.last_error}"


@app_command(commands, "test")
async def test_webhook(
    settings: Settings, name: HookName, *, now: datetime, output: Output
) -> None:
    """Post a signed test event, and print how it was answered.

    Example: presagio webhooks test news
    """
    from bot.webhooks import WebhookPoster, targets_of

    hook = _find_webhook(settings, name)
    poster = WebhookPoster(
        targets_of(settings), contact=settings.fetch.user_agent_contact, now=lambda: now
    )
    body = orjson.dumps({"type": "test", "timestamp": now.isoformat(), "data": {}})
    event = Event(id=f"msg_test_{now:%Y%m%d%H%M%S%f}", body=body)
    chat = Chat(id=0, platform=WEBHOOKS, external_id=hook.name, private=True)
    try:
        reply = Reply(words=words_for("en", operator=True), event=event)
        await poster.post(chat, None, reply, key=event.id)
    except DeliveryError as error:
        raise PresagioError(error.message, fix="Nothing is kept; try again.") from error
    finally:
        await poster.close()
    output.line(f"{hook.name} has accepted the event {event.id}.")


@app_command(commands, "resume")
async def resume_webhook(app: "App", name: HookName, *, output: Output) -> None:
    """Turn a webhook on again, which its receiver had turned off.

    Example: presagio webhooks resume news
    """
    hook = _find_webhook(app.settings, name)
    await Chats(app.database).set_active(WEBHOOKS, hook.name, active=True)
    output.line(f"{hook.name} is told again of what is found from now on.")


def _find_webhook(settings: Settings, name: str) -> WebhookSettings:
    """Return a webhook of the settings. Raises InputError."""
    for hook in settings.webhooks:
        if hook.name == name:
            return hook
    known = ", ".join(hook.name for hook in settings.webhooks) or "none"
    raise InputError(f"The settings name no webhook {name!r}.", fix=f"There are: {known}.")
