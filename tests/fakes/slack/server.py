"""The stand-in itself: sockets, and everything wired together."""

import random
import time
from collections.abc import Callable, Sequence
from typing import Self

from aiohttp import web
from aiohttp.typedefs import Middleware

from tests.fakes.slack.app import App
from tests.fakes.slack.chat import Chat
from tests.fakes.slack.conversation import Channel, ChannelKind, Message, Person
from tests.fakes.slack.conversations import Conversations
from tests.fakes.slack.delivery import Envelope, Kind, Timing
from tests.fakes.slack.faults import Fault, FaultPlan
from tests.fakes.slack.files import Files
from tests.fakes.slack.host import Host
from tests.fakes.slack.people import User
from tests.fakes.slack.request_url import HONEST, RequestUrl, Signing
from tests.fakes.slack.response_url import ResponseUrls
from tests.fakes.slack.socket_mode import Connection, DisconnectReason, SocketMode
from tests.fakes.slack.telling import Telling
from tests.fakes.slack.web_api import Call, Method, WebApi
from tests.fakes.slack.wire import Json
from tests.fakes.slack.workspace import Workspace
from tests.fakes.stand_in import Changes
from tests.patience import PATIENCE


class SlackServer:
    """A Slack of one team with one app, on a free port of 127.0.0.1.

    async with SlackServer() as slack:
        alice = slack.user("alice")
        general = slack.channel("general", members=[alice])
        ...  # connect the app: AsyncWebClient(slack.bot_token, base_url=slack.base_url)
        await alice.mentions_bot(general, "hello")
        reply = await general.until(lambda message: message.author is slack.bot)
    """

    bot_token = "xoxb-stand-in"
    app_token = "xapp-stand-in"
    signing_secret = "stand-in-signing-secret"

    def __init__(
        self,
        app: App | None = None,
        *,
        timing: Timing | None = None,
        seed: int = 0,
        clock: Callable[[], float] = time.time,
        middlewares: Sequence[Middleware] = (),
    ) -> None:
        """`seed` decides which connection gets an envelope, `clock` tells seconds since 1970;
        `middlewares` stand before everything."""
        self.host = Host(middlewares)
        self.changes = Changes()
        self.faults = FaultPlan()
        self.workspace = Workspace(self._publish, clock, self.changes)
        self._methods: dict[str, Method] = {}
        tokens = (self.bot_token, self.app_token)
        self.api = WebApi(app or App(), self._methods, self.changes, self.faults, *tokens)
        self.response_urls = ResponseUrls(self.workspace, self.faults, self.host)
        self.files = Files(self.workspace, self.api, self.faults, self.host)
        self.sockets = SocketMode(self._acknowledge, self.changes, random.Random(seed), self.host)
        self.telling = Telling(
            self.workspace,
            self.api,
            self.response_urls,
            self.host,
            timing or Timing(),
            self.sockets,
        )
        self._add_methods()

    def _add_methods(self) -> None:
        chat = Chat(self.workspace, self.api, self.files)
        conversations = Conversations(self.workspace, self.api)
        for group in (chat, conversations, self.files):
            self._methods.update(group.methods())
        self._methods["apps.connections.open"] = lambda _: {"url": self.sockets.issue()}

    def _publish(self, subscription: str, event: Json, channel: Channel) -> None:
        self.telling.publish(subscription, event, channel)

    def _acknowledge(self, envelope_id: str, payload: Json | None) -> None:
        self.telling.deliveries.acknowledge(envelope_id, payload)

    # Life

    async def start(self) -> Self:
        await self.host.start(
            [
                web.route("*", "/api/{method}", self.api.handle),
                web.get("/link/", self.sockets.handle),
                web.post("/respond/{name}", self.response_urls.handle),
                web.post("/upload/v1/{file_id}", self.files.receive),
                web.get("/files-pri/{file_id}/download", self.files.send),
            ]
        )
        return self

    async def stop(self) -> None:
        await self.telling.deliveries.stop()
        await self.sockets.stop()
        await self.host.stop()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def environ(self) -> dict[str, str]:
        """How a bot reaches it."""
        return {
            "SLACK_BOT_TOKEN": self.bot_token,
            "SLACK_APP_TOKEN": self.app_token,
            "PRESAGIO_SLACK__API_BASE": self.base_url,
        }

    @property
    def base_url(self) -> str:
        """For AsyncWebClient(base_url=...); the Socket Mode address follows from it."""
        return f"http://{self.host.address}/api/"

    # Who and where

    @property
    def bot(self) -> Person:
        return self.workspace.bot

    def user(
        self,
        name: str,
        *,
        tz: str = "Etc/UTC",
        locale: str = "en-US",
        admin: bool = False,
        owner: bool = False,
    ) -> User:
        person = User(
            server=self,
            id=self.workspace.fresh_id("U"),
            name=name,
            tz=tz,
            locale=locale,
            is_admin=admin,
            is_owner=owner,
        )
        self.workspace.people[person.id] = person
        return person

    def other_app(self, name: str, *, webhook: bool = False) -> User:
        """Another bot: with a user of its own, or the kind that only posts `bot_message`s."""
        bot_id, app_id = self.workspace.fresh_id("B"), self.workspace.fresh_id("A")
        person = self.user(name)
        person.bot_id, person.app_id, person.is_webhook = bot_id, app_id, webhook
        return person

    def channel(
        self,
        name: str,
        members: Sequence[Person] = (),
        *,
        kind: ChannelKind = "channel",
        with_bot: bool = True,
    ) -> Channel:
        return self.workspace.add_channel(name, kind, members, with_bot=with_bot)

    def im(self, person: Person) -> Channel:
        return self.workspace.im(person)

    # Telling the app

    @property
    def envelopes(self) -> list[Envelope]:
        return self.telling.deliveries.envelopes

    def envelopes_of(self, event_type: str) -> list[Envelope]:
        return [envelope for envelope in self.envelopes if envelope.event_type == event_type]

    async def tell(self, kind: Kind, payload: Json) -> Envelope:
        """Send anything, once begun."""
        envelope = self.telling.deliveries.start(kind, payload)
        await self.all_begun()
        return envelope

    async def tell_event(self, event: Json) -> Envelope:
        """Send an event that nothing here makes, whatever the subscriptions."""
        return await self.tell("events_api", self.telling.callback(event))

    async def redeliver(self, envelope: Envelope, *, signing: Signing = HONEST) -> str:
        """Send it again now; returns why that failed, or nothing once it is acknowledged."""
        return await self.telling.redeliver(envelope, signing)

    async def all_begun(self) -> None:
        """Return when the first attempt of every envelope is under way, so that order is kept."""
        await self.until(lambda: self.telling.deliveries.begun == len(self.envelopes))

    async def quiet(self, within: float = PATIENCE) -> None:
        """Return when every envelope was acknowledged or given up."""
        await self.until(lambda: all(envelope.settled for envelope in self.envelopes), within)

    def use_http(self, url: str) -> RequestUrl:
        """From now on post to this request URL instead of using sockets."""
        return self.telling.use_http(url, self.signing_secret)

    # What goes wrong

    def fail(self, method: str, fault: Fault, *, times: int | None = 1) -> None:
        """Let the next calls go wrong, or all until `mend`.

        `method` is one of the Web API, "response_url" or "upload".
        """
        self.faults.add(method, fault, times)

    def refuse_connections(self, times: int = 1) -> None:
        """Refuse the next handshakes; the addresses are used up all the same."""
        self.sockets.refusals += times

    async def disconnect(self, reason: DisconnectReason = "refresh_requested") -> None:
        await self.sockets.disconnect(reason)

    # What happened

    @property
    def calls(self) -> list[Call]:
        return self.api.calls

    def calls_of(self, method: str) -> list[Call]:
        return [call for call in self.calls if call.method == method]

    @property
    def connections(self) -> list[Connection]:
        return self.sockets.connections

    @property
    def bot_messages(self) -> list[Message]:
        """Everything that the bot has said and that still stands, ephemeral or not."""
        channels = self.workspace.channels.values()
        said = [one for channel in channels for one in channel.messages + channel.ephemerals]
        return [message for message in said if message.author is self.bot]

    async def until(self, condition: Callable[[], object], within: float = PATIENCE) -> None:
        """Return when the condition holds; it is tried again whenever anything has happened."""
        await self.changes.until(condition, within)

    async def until_connected(self, connections: int = 1, within: float = PATIENCE) -> None:
        await self.until(lambda: len(self.connections) == connections, within)
