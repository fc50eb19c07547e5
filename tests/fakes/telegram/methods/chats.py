"""What a bot can ask about chats, members and files."""

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
    "getFile": get_file,
}
