"""Methods that change or remove what is already in a chat."""

from telegram.constants import ReactionEmoji

from tests.fakes.telegram.errors import bad_request
from tests.fakes.telegram.keyboards import Keyboard, inline_keyboard
from tests.fakes.telegram.messages import Message
from tests.fakes.telegram.methods.handler import Handler, Parameters, text_of
from tests.fakes.telegram.text import Formatted
from tests.fakes.telegram.world import World

_UNCHANGED = (
    "message is not modified: specified new message content and reply markup are exactly the same "
    "as a current content and reply markup of the message"
)
_REACTIONS = frozenset(emoji.value for emoji in ReactionEmoji)


def edit_message_text(world: World, p: Parameters) -> object:
    message = _own(world, p)
    body = text_of(p)
    if message.photo:
        raise bad_request("there is no text in the message to edit")
    return _change(world, message, body, p)


def edit_message_reply_markup(world: World, p: Parameters) -> object:
    message = _own(world, p)
    return _change(world, message, message.body, p)


def delete_message(world: World, p: Parameters) -> object:
    chat = world.reachable(p["chat_id"])
    message = chat.message(p["message_id"])
    if message is None:
        raise bad_request("message to delete not found")
    allowed = message.from_bot or chat.type == "private" or chat.bot_status == "administrator"
    if not allowed:
        raise bad_request("message can't be deleted")
    message.deleted = True
    world.signal.notify()
    return True


def set_message_reaction(world: World, p: Parameters) -> object:
    message = world.reachable(p["chat_id"]).message(p["message_id"])
    if message is None:
        raise bad_request("message to react not found")
    emoji = [one.get("emoji", "") for one in p.get("reaction", ())]
    if len(emoji) > 1:
        raise bad_request("REACTIONS_TOO_MANY")
    if not _REACTIONS.issuperset(emoji):
        raise bad_request("REACTION_INVALID")
    message.reactions[world.bot.id] = tuple(emoji)
    world.signal.notify()
    return True


def _own(world: World, p: Parameters) -> Message:
    """The message to edit, by chat and id or by the id of an inline message."""
    if "inline_message_id" in p:
        return world.by_inline_id(p["inline_message_id"])
    if "chat_id" not in p or "message_id" not in p:
        raise bad_request("message identifier is not specified")
    message = world.reachable(p["chat_id"]).message(p["message_id"])
    if message is None:
        raise bad_request("message to edit not found")
    if not message.from_bot:
        raise bad_request("message can't be edited")
    return message


def _change(world: World, message: Message, body: Formatted, p: Parameters) -> object:
    """An edit without a keyboard removes the keyboard."""
    markup = p.get("reply_markup")
    keyboard: Keyboard = inline_keyboard(markup)
    if (body, _raw(keyboard)) == (message.body, _raw(message.keyboard)):
        raise bad_request(_UNCHANGED)
    message.body, message.keyboard = body, keyboard
    message.edited_at = world.now()
    message.edits += 1
    world.signal.notify()
    return True if "inline_message_id" in p else message.payload()


def _raw(keyboard: Keyboard) -> list[list[dict[str, object]]]:
    return [[dict(button.raw) for button in row] for row in keyboard]


HANDLERS: dict[str, Handler] = {
    "editMessageText": edit_message_text,
    "editMessageReplyMarkup": edit_message_reply_markup,
    "deleteMessage": delete_message,
    "setMessageReaction": set_message_reaction,
}
