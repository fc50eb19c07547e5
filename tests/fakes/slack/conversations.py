"""Methods of the Web API that read: conversations.*, users.info and auth.test."""

import datetime as dt
import zoneinfo
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.fakes.slack.app import KIND_SCOPES, METHOD_SCOPES
from tests.fakes.slack.conversation import Channel, Message
from tests.fakes.slack.events import message_json
from tests.fakes.slack.web_api import Method, WebApi, flag, required
from tests.fakes.slack.wire import DOMAIN, TEAM, Json, Refusal
from tests.fakes.slack.workspace import Workspace

MAX_ON_A_PAGE = 999


@dataclass
class Conversations:
    """Reads the workspace as the bot."""

    workspace: Workspace
    api: WebApi

    def methods(self) -> Mapping[str, Method]:
        return {
            "auth.test": self.auth_test,
            "users.info": self.user,
            "conversations.info": self.info,
            "conversations.history": self.history,
            "conversations.replies": self.replies,
        }

    def auth_test(self, _: Json) -> Json:
        bot = self.workspace.bot
        return {
            "url": f"https://{DOMAIN}.slack.com/",
            "team": DOMAIN,
            "user": bot.name,
            "team_id": TEAM,
            "user_id": bot.id,
            "bot_id": bot.bot_id,
            "is_enterprise_install": False,
        }

    def user(self, arguments: Json) -> Json:
        (user_id,) = required(arguments, "user")
        person = self.workspace.people.get(user_id)
        if person is None:
            raise Refusal("user_not_found")
        now = dt.datetime.fromtimestamp(self.workspace.clock(), zoneinfo.ZoneInfo(person.tz))
        offset = now.utcoffset() or dt.timedelta()
        user = {
            "id": person.id,
            "team_id": person.team or TEAM,
            "name": person.name,
            "real_name": person.name.title(),
            "deleted": False,
            "tz": person.tz,
            "tz_label": now.tzname(),
            "tz_offset": int(offset.total_seconds()),
            "profile": {"real_name": person.name.title(), "display_name": person.name},
            "is_admin": person.is_admin,
            "is_owner": person.is_owner,
            "is_bot": bool(person.bot_id),
        }
        locale = {"locale": person.locale} if flag(arguments, "include_locale") else {}
        return {"user": user | locale}

    def info(self, arguments: Json) -> Json:
        channel = self._readable(arguments, "conversations.info")
        shown = {
            "id": channel.id,
            "name": channel.name,
            "is_channel": channel.kind == "channel",
            "is_group": channel.kind == "group",
            "is_im": channel.kind == "im",
            "is_mpim": channel.kind == "mpim",
            "is_private": channel.kind != "channel",
            "is_archived": channel.is_archived,
            "is_member": self.workspace.bot in channel.members,
        }
        if channel.kind == "im":
            del shown["name"], shown["is_member"]
            shown["user"] = channel.members[0].id
        if flag(arguments, "include_num_members"):
            shown["num_members"] = len(channel.members)
        if flag(arguments, "include_locale"):
            shown["locale"] = "en-US"
        return {"channel": shown}

    def history(self, arguments: Json) -> Json:
        """What was said outside of threads, newest first."""
        channel = self._member("conversations.history", arguments)
        said = [message for message in channel.messages if message.thread_ts in (None, message.ts)]
        return self._messages(channel, list(reversed(said)), arguments)

    def replies(self, arguments: Json) -> Json:
        """A thread, its first message first."""
        channel = self._member("conversations.replies", arguments)
        thread = channel.thread(*required(arguments, "ts"))
        if not thread:
            raise Refusal("thread_not_found")
        return self._messages(channel, thread, arguments)

    def _messages(self, channel: Channel, said: Sequence[Message], arguments: Json) -> Json:
        with_metadata = flag(arguments, "include_all_metadata")
        shown = [
            message_json(one, with_metadata=with_metadata) | _thread_summary(channel, one)
            for one in said
            if _in_time(one.ts, arguments)
        ]
        return _page(shown, arguments, "messages")

    def _member(self, method: str, arguments: Json) -> Channel:
        channel = self._readable(arguments, method)
        if self.workspace.bot not in channel.members:
            raise Refusal("not_in_channel")
        return channel

    def _readable(self, arguments: Json, method: str) -> Channel:
        channel = self.workspace.channel(*required(arguments, "channel"))
        if channel.kind != "channel" and self.workspace.bot not in channel.members:
            raise Refusal("channel_not_found")
        self.api.require(METHOD_SCOPES[method].format(kind=KIND_SCOPES[channel.kind]))
        return channel


def _thread_summary(channel: Channel, message: Message) -> Json:
    replies = channel.thread(message.ts)[1:]
    if not replies:
        return {}
    summary = {"reply_count": len(replies), "latest_reply": replies[-1].ts}
    return {"thread_ts": message.ts, **summary}


def _in_time(ts: str, arguments: Json) -> bool:
    oldest, latest = arguments.get("oldest"), arguments.get("latest")
    if flag(arguments, "inclusive") and ts in (oldest, latest):
        return True
    return (not oldest or ts > oldest) and (not latest or ts < latest)


def _page(found: Sequence[Any], arguments: Json, name: str) -> Json:
    """One page; the cursor is the number of what came before."""
    limit = min(int(arguments.get("limit") or 100), MAX_ON_A_PAGE)
    start = int(arguments.get("cursor") or 0)
    end = start + limit
    more = {"next_cursor": str(end) if end < len(found) else ""}
    return {name: found[start:end], "has_more": end < len(found), "response_metadata": more}
