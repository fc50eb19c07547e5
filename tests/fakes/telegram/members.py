"""ChatMember objects."""

from collections.abc import Mapping
from typing import Any

RIGHTS = (
    "can_manage_chat",
    "can_delete_messages",
    "can_manage_video_chats",
    "can_restrict_members",
    "can_promote_members",
    "can_change_info",
    "can_invite_users",
    "can_post_stories",
    "can_edit_stories",
    "can_delete_stories",
    "can_send_welcome_messages",
)


def membership(
    user: Mapping[str, Any], status: str, *, posts: bool | None = None
) -> dict[str, Any]:
    """The ChatMember object of a user; `posts` is whether an admin of a channel may post there."""
    body: dict[str, Any] = {"user": dict(user), "status": status}
    if status == "creator":
        return body | {"is_anonymous": False}
    if status == "administrator":
        rights = dict.fromkeys(RIGHTS, True)
        rights |= {} if posts is None else {"can_post_messages": posts}
        return body | rights | {"can_be_edited": False, "is_anonymous": False}
    if status == "kicked":
        return body | {"until_date": 0}
    return body
