"""What a bot can ask about chats, members and files."""

from typing import Any

from tests.fakes.telegram.chats import PRESENT
from tests.fakes.telegram.errors import bad_request
from tests.fakes.telegram.files import DOWNLOAD_BYTES
from tests.fakes.telegram.members import membership
from tests.fakes.telegram.methods.handler import Handler, Parameters
from tests.fakes.telegram.world import World

_GIFTS = (
    "unlimited_gifts",
    "limited_gifts",
    "unique_gifts",
    "premium_subscription",
    "gifts_from_channels",
)


def get_chat(world: World, p: Parameters) -> object:
    chat = world.reachable(p["chat_id"])
    full = {"accent_color_id": 1, "max_reaction_count": 11}
    return chat.payload() | full | {"accepted_gift_types": dict.fromkeys(_GIFTS, False)}


def get_chat_member(world: World, p: Parameters) -> object:
    chat = world.reachable(p["chat_id"])
    user = world.users.get(p["user_id"])
    if user is None:
        raise bad_request("invalid user_id specified")
    posts = chat.bot_posts if chat.type == "channel" else None
    return membership(user.payload(), chat.members.get(user.id, "left"), posts=posts)


def get_chat_member_count(world: World, p: Parameters) -> object:
    chat = world.reachable(p["chat_id"])
    return sum(status in PRESENT for status in chat.members.values())


def get_chat_administrators(world: World, p: Parameters) -> object:
    chat = world.reachable(p["chat_id"])
    if chat.type == "private":
        raise bad_request("there are no administrators in the private chat")
    found: list[dict[str, Any]] = []
    for user_id, status in chat.members.items():
        user = world.users[user_id]
        # Other bots are left out; this one is listed where it is an administrator.
        listed = not user.is_bot or user is world.bot or p.get("return_bots")
        if status in ("creator", "administrator") and listed:
            found.append(membership(user.payload(), status))
    return found


def leave_chat(world: World, p: Parameters) -> object:
    chat = world.reachable(p["chat_id"])
    if chat.type == "private":
        raise bad_request("chat member status can't be changed in private chats")
    world.change_bot(chat, "left", world.bot)
    return True


def get_file(world: World, p: Parameters) -> object:
    file = world.files.find(p["file_id"])
    if file is None:
        raise bad_request("invalid file_id")
    if len(file.content) > DOWNLOAD_BYTES:
        raise bad_request("file is too big")
    return file.payload() | {"file_path": file.path}


HANDLERS: dict[str, Handler] = {
    "getChat": get_chat,
    "getChatMember": get_chat_member,
    "getChatMemberCount": get_chat_member_count,
    "getChatAdministrators": get_chat_administrators,
    "leaveChat": leave_chat,
    "getFile": get_file,
}
