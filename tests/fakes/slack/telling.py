"""What the app is told, by which way, and what becomes of its answers."""

from dataclasses import dataclass, replace

from tests.fakes.slack import payloads
from tests.fakes.slack.app import EVENT_SCOPES
from tests.fakes.slack.conversation import Channel
from tests.fakes.slack.delivery import Attempt, Deliveries, Envelope, Timing
from tests.fakes.slack.host import Host
from tests.fakes.slack.request_url import RequestUrl, Signing
from tests.fakes.slack.response_url import ResponseUrls
from tests.fakes.slack.socket_mode import SocketMode
from tests.fakes.slack.web_api import WebApi
from tests.fakes.slack.wire import Json, Refusal
from tests.fakes.slack.workspace import Workspace


@dataclass
class Telling:
    """Sends to the request URL if there is one, else over Socket Mode."""

    workspace: Workspace
    api: WebApi
    response_urls: ResponseUrls
    host: Host
    timing: Timing
    sockets: SocketMode
    request_url: RequestUrl | None = None

    def __post_init__(self) -> None:
        changes, broken = self.workspace.changes, self.host.broken
        self.deliveries = Deliveries(self._send, self.timing, changes, self._answered, broken)

    def publish(self, subscription: str, event: Json, channel: Channel) -> None:
        """Tell of an event if the app is there to hear it."""
        if self.workspace.bot in channel.members and self.api.app.hears(subscription):
            if scope := EVENT_SCOPES.get(subscription):
                self.api.used_scopes.add(scope)
            self.deliveries.start("events_api", self.callback(event))

    def callback(self, event: Json) -> Json:
        """The event as the Events API wraps it."""
        event_id, now = self.workspace.fresh_id("Ev"), self.workspace.clock()
        return payloads.event_callback(event, event_id=event_id, now=now, bot=self.workspace.bot)

    def use_http(self, url: str, secret: str) -> RequestUrl:
        acknowledge = self.deliveries.acknowledge
        clock, patience = self.workspace.clock, self.timing.ack_within
        self.request_url = RequestUrl(url, secret, clock, patience, acknowledge)
        return self.request_url

    async def redeliver(self, envelope: Envelope, signing: Signing) -> str:
        send = self.sockets.send
        if self.request_url:
            send = replace(self.request_url, signing=signing).send
        return await self.deliveries.attempt(envelope, "timeout", send)

    async def _send(self, envelope: Envelope, attempt: Attempt) -> str:
        way = self.request_url or self.sockets
        return await way.send(envelope, attempt)

    def _answered(self, envelope: Envelope, payload: Json) -> None:
        """What an app says in its acknowledgement of a command is shown as its answer."""
        if envelope.kind != "slash_commands":
            return
        occasion = self.response_urls.occasion(envelope.payload["response_url"])
        try:
            self.response_urls.answer(occasion, payload)
        except Refusal as refusal:
            envelope.failure = refusal.code
