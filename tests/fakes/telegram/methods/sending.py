"""Methods that put something new into a chat."""

from typing import Any

from telegram.constants import ChatAction

from tests.fakes.telegram.chats import Chat
from tests.fakes.telegram.errors import bad_request
from tests.fakes.telegram.files import Photo
from tests.fakes.telegram.keyboards import inline_keyboard
from tests.fakes.telegram.messages import Message
from tests.fakes.telegram.methods.handler import Handler, Parameters, caption_of, text_of
from tests.fakes.telegram.schema import Upload
from tests.fakes.telegram.world import World, implied_thread

_ACTIONS = frozenset(action.value for action in ChatAction)


def send_message(world: World, p: Parameters) -> object:
    chat = world.reachable(p["chat_id"])
    return _send(world, chat, p, body=text_of(p))


def send_photo(world: World, p: Parameters) -> object:
    chat = world.reachable(p["chat_id"])
    body = caption_of(p)
    return _send(world, chat, p, body=body, photo=_photo(world, p["photo"]))


def send_chat_action(world: World, p: Parameters) -> object:
    chat = world.reachable(p["chat_id"])
    if p["action"] not in _ACTIONS:
        raise bad_request("wrong parameter action in request")
    _check_thread(chat, p.get("message_thread_id"))
    chat.actions.append(p["action"])
    world.signal.notify()
    return True


def _send(world: World, chat: Chat, p: Parameters, **content: Any) -> object:
    keyboard = inline_keyboard(p.get("reply_markup"))
    _check_thread(chat, p.get("message_thread_id"))
    reply_to = _replied(world, chat, p)
    thread_id = p.get("message_thread_id") or implied_thread(chat, reply_to)
    message = world.post(
        chat,
        sender=world.bot,
        keyboard=keyboard,
        reply_to=reply_to,
        thread_id=thread_id,
        silent=bool(p.get("disable_notification")),
        **content,
    )
    world.attribute(message)
    world.signal.notify()
    return message.payload()


def _check_thread(chat: Chat, thread_id: int | None) -> None:
    """Only a topic that exists; General is named by leaving the parameter out."""
    if thread_id is None:
        return
    if thread_id not in chat.topics:
        raise bad_request("message thread not found")


def _replied(world: World, chat: Chat, p: Parameters) -> Message | None:
    parameters = p.get("reply_parameters")
    if not parameters:
        return None
    place = world.reachable(parameters["chat_id"]) if "chat_id" in parameters else chat
    message = place.message(parameters.get("message_id"))
    if message is None:
        if parameters.get("allow_sending_without_reply"):
            return None
        raise bad_request("message to be replied not found")
    return message


def _photo(world: World, given: str | Upload) -> Photo:
    if isinstance(given, Upload):
        return world.files.add_photo(given.content)
    if given in world.files.by_id:
        return world.files.by_id[given]
    raise bad_request("wrong file identifier/HTTP URL specified")


HANDLERS: dict[str, Handler] = {
    "sendMessage": send_message,
    "sendPhoto": send_photo,
    "sendChatAction": send_chat_action,
}
