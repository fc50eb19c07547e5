"""Command menus: one list for each scope and language, and which of them a person sees."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fakes.telegram.chats import Chat
    from tests.fakes.telegram.people import User

Commands = Sequence[Mapping[str, str]]
_DEFAULT = {"type": "default"}


@dataclass
class Menus:
    """Lists of BotCommand objects."""

    _lists: dict[tuple[str, str], Commands] = field(default_factory=dict)

    def set(self, scope: Mapping[str, Any] | None, language: str, commands: Commands) -> None:
        """Keep a list; an empty one is as good as none."""
        if commands:
            self._lists[_key(scope, language)] = commands
        else:
            self._lists.pop(_key(scope, language), None)

    def shown(self, user: "User", chat: "Chat") -> dict[str, str]:
        """Descriptions by command, as that user sees them in that chat: narrowest scope first."""
        for scope in _scopes(user, chat):
            for language in (user.language or "", ""):
                if commands := self._lists.get(_key(scope, language)):
                    return {command["command"]: command["description"] for command in commands}
        return {}


def _key(scope: Mapping[str, Any] | None, language: str) -> tuple[str, str]:
    return json.dumps(scope or _DEFAULT, sort_keys=True), language


def _scopes(user: "User", chat: "Chat") -> list[dict[str, Any]]:
    """The order in which Telegram looks (Bot API, BotCommandScope)."""
    here: dict[str, Any] = {"type": "chat", "chat_id": chat.id}
    if chat.type == "private":
        return [here, {"type": "all_private_chats"}, _DEFAULT]
    administers = chat.members.get(user.id) in ("creator", "administrator")
    scopes: list[tuple[bool, dict[str, Any]]] = [
        (True, {"type": "chat_member", "chat_id": chat.id, "user_id": user.id}),
        (administers, {"type": "chat_administrators", "chat_id": chat.id}),
        (True, here),
        (administers, {"type": "all_chat_administrators"}),
        (True, {"type": "all_group_chats"}),
        (True, _DEFAULT),
    ]
    return [scope for applies, scope in scopes if applies]
