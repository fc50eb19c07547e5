"""Which messages a bot is told about."""

from tests.fakes.telegram.messages import Message


def is_visible(message: Message) -> bool:
    """Groups show a bot in privacy mode only commands, replies to it and service messages.

    A mention alone is not shown, whatever the settings dialogue says. Administrators see all.
    """
    chat = message.chat
    if message.from_bot or chat.bot_status not in ("creator", "administrator", "member"):
        return False
    if chat.type in ("private", "channel") or message.is_service or message.via_bot:
        return True
    if not chat.privacy_mode or chat.bot_status == "administrator":
        return True
    return _answers_bot(message) or _is_command_for(message, chat.world.bot.username or "")


def _answers_bot(message: Message) -> bool:
    return message.reply_to is not None and message.reply_to.from_bot


def _is_command_for(message: Message, username: str) -> bool:
    """A command at the start, addressed to this bot or to nobody."""
    if not any(e.type == "bot_command" and e.offset == 0 for e in message.entities):
        return False
    addressee = message.text.split(maxsplit=1)[0].partition("@")[2]
    return addressee.lower() in ("", username.lower())
