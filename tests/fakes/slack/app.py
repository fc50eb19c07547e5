"""What the app under test may do: the scopes, events, commands and shortcuts of its manifest."""

from dataclasses import dataclass
from typing import Self

from tests.fakes.slack.wire import Json, Refusal

# What each method of the Web API asks for. "{kind}" depends on the conversation it is about.
METHOD_SCOPES = {
    "chat.postMessage": "chat:write",
    "chat.postEphemeral": "chat:write",
    "chat.update": "chat:write",
    "chat.delete": "chat:write",
    "reactions.add": "reactions:write",
    "files.getUploadURLExternal": "files:write",
    "files.completeUploadExternal": "files:write",
    "users.info": "users:read",
    "conversations.info": "{kind}:read",
    "conversations.history": "{kind}:history",
    "conversations.replies": "{kind}:history",
}
EVENT_SCOPES = {
    "app_mention": "app_mentions:read",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.im": "im:history",
    "message.mpim": "mpim:history",
    "member_joined_channel": "channels:read",
    "file_shared": "files:read",
}
KIND_SCOPES = {"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """An installed app. None means all there is."""

    scopes: frozenset[str] | None = None
    events: frozenset[str] | None = None
    commands: frozenset[str] | None = None
    shortcuts: frozenset[str] | None = None

    @classmethod
    def from_manifest(cls, manifest: Json) -> Self:
        """The app that Slack would install from a manifest (as parsed JSON or YAML)."""
        features, settings = manifest["features"], manifest["settings"]
        return cls(
            scopes=frozenset(manifest["oauth_config"]["scopes"]["bot"]),
            events=frozenset(settings.get("event_subscriptions", {}).get("bot_events", [])),
            commands=frozenset(one["command"] for one in features.get("slash_commands", [])),
            shortcuts=frozenset(one["callback_id"] for one in features.get("shortcuts", [])),
        )

    def has(self, scope: str) -> bool:
        return self.scopes is None or scope in self.scopes

    def require(self, scope: str) -> None:
        """missing_scope, with what Slack adds to it, unless the scope was granted."""
        if not self.has(scope):
            provided = ",".join(sorted(self.scopes or ()))
            raise Refusal("missing_scope", needed=scope, provided=provided)

    def hears(self, subscription: str) -> bool:
        """Whether that event reaches the app: subscribed, and with the scope it asks for."""
        scope = EVENT_SCOPES.get(subscription)
        subscribed = self.events is None or subscription in self.events
        return subscribed and (scope is None or self.has(scope))

    def check_command(self, command: str) -> None:
        assert self.has("commands"), "slash commands need the scope `commands`"
        known = self.commands is None or command in self.commands
        assert known, f"{command} is not a valid command"

    def check_shortcut(self, callback_id: str) -> None:
        assert self.has("commands"), "shortcuts need the scope `commands`"
        known = self.shortcuts is None or callback_id in self.shortcuts
        assert known, f"no shortcut {callback_id} is installed"
