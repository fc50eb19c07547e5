"""response_url: five answers within half an hour to what a person did, no token asked for."""

import json
import secrets
from dataclasses import dataclass, field

from aiohttp import web

from tests.fakes.slack.chat import check_content
from tests.fakes.slack.conversation import Channel, Message, Person
from tests.fakes.slack.faults import FaultPlan, before_processing
from tests.fakes.slack.host import Host
from tests.fakes.slack.wire import Json, Refusal
from tests.fakes.slack.workspace import Workspace
from tests.fakes.stand_in import cut

MAX_POSTS = 5
LIFE_SECONDS = 30 * 60


@dataclass(eq=False)
class Occasion:
    """What somebody did somewhere, perhaps to a message, that may be answered."""

    channel: Channel
    person: Person
    original: Message | None
    since: float
    posts: list[Json] = field(default_factory=list)


@dataclass
class ResponseUrls:
    """Issues the addresses and takes what is posted there."""

    workspace: Workspace
    faults: FaultPlan
    host: Host
    occasions: dict[str, Occasion] = field(default_factory=dict)

    def issue(self, channel: Channel, person: Person, original: Message | None) -> str:
        name = secrets.token_urlsafe(12)
        self.occasions[name] = Occasion(channel, person, original, self.workspace.clock())
        return f"http://{self.host.address}/respond/{name}"

    def occasion(self, url: str) -> Occasion:
        return self.occasions[url.rpartition("/")[2]]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        fault = self.faults.take("response_url")
        if fault and (answer := await before_processing(fault, request)):
            return answer
        content = json.loads(await request.text())
        try:
            self._take(self._living(request.match_info["name"]), content)
        except Refusal as refusal:
            status = 404 if refusal.code in ("used_url", "expired_url") else 400
            return web.json_response(refusal.body, status=status)
        if fault and fault.drop_after:
            return cut(request)
        return web.json_response({"ok": True})

    def _living(self, name: str) -> Occasion:
        occasion = self.occasions.get(name)
        if occasion is None or len(occasion.posts) >= MAX_POSTS:
            raise Refusal("used_url")
        if self.workspace.clock() - occasion.since > LIFE_SECONDS:
            raise Refusal("expired_url")
        return occasion

    def _take(self, occasion: Occasion, content: Json) -> None:
        self.answer(occasion, content)
        occasion.posts.append(content)

    def answer(self, occasion: Occasion, content: Json) -> None:
        """Delete or replace what was acted upon, or say something new: to that person or to all."""
        original = occasion.original
        if content.get("delete_original") and original:
            self.workspace.delete(original)
            return
        check_content(content)
        text, blocks = content.get("text") or "", content.get("blocks")
        if content.get("replace_original") and original:
            self.workspace.edit(original, text, blocks or [])
            return
        in_channel = content.get("response_type") == "in_channel"
        self.workspace.post(
            occasion.channel,
            self.workspace.bot,
            text,
            blocks=blocks,
            thread_ts=content.get("thread_ts"),
            subtype="bot_message" if in_channel else "",
            ephemeral_to=None if in_channel else occasion.person,
        )
