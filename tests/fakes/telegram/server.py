"""The stand-in itself: HTTP in front, the world behind it, and what tests script."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Self

from aiohttp import web
from aiohttp.typedefs import Middleware

from tests.fakes.stand_in import listen
from tests.fakes.telegram.chats import Chat, Status
from tests.fakes.telegram.endpoint import Call, Endpoint
from tests.fakes.telegram.faults import Fault, Trouble
from tests.fakes.telegram.limits import RateLimits
from tests.fakes.telegram.people import ANONYMOUS_ADMIN, CHANNEL_BOT, User
from tests.fakes.telegram.updates import Update
from tests.fakes.telegram.world import World
from tests.patience import PATIENCE

TOKEN = "123456789:AAstand-in_token_of_35_characters_x"


class TelegramServer:
    """Listens on a free port of 127.0.0.1; see the package's docstring."""

    def __init__(
        self,
        *,
        token: str = TOKEN,
        username: str = "presagio_bot",
        privacy_mode: bool = True,
        limits: RateLimits | None = None,
        clock: Callable[[], float] = time.time,
        middlewares: Sequence[Middleware] = (),
    ) -> None:
        """`clock` tells seconds since 1970; `middlewares` stand before all methods."""
        self.token = token
        self._middlewares = middlewares
        self.world = World(username, privacy_mode=privacy_mode, clock=clock)
        self.world.add_user("Channel", id=CHANNEL_BOT, username="Channel_Bot", is_bot=True)
        self.world.add_user("Group", id=ANONYMOUS_ADMIN, username="GroupAnonymousBot", is_bot=True)
        self._endpoint = Endpoint(self.world, token, limits)
        self._runner: web.AppRunner | None = None
        self._webhook: asyncio.Task[None] | None = None
        self._port = 0

    # Running

    @property
    def base_url(self) -> str:
        """What python-telegram-bot takes as `base_url`: the token follows directly."""
        return f"{self.root}/bot"

    @property
    def base_file_url(self) -> str:
        return f"{self.root}/file/bot"

    @property
    def root(self) -> str:
        """The API root, for clients that add `/bot<token>` themselves."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def environ(self) -> dict[str, str]:
        """How a bot reaches it."""
        return {"TELEGRAM_BOT_TOKEN": self.token, "PRESAGIO_TELEGRAM__API_BASE": self.root}

    async def start(self) -> None:
        """Listen; a server that was stopped comes back under its port."""
        app = web.Application(client_max_size=60 << 20, middlewares=self._middlewares)
        app.router.add_route("*", "/{path:.*}", self._endpoint.serve)
        self._runner, self._port = await listen(app, self._port)
        self._webhook = asyncio.create_task(self.world.webhook.run())

    async def stop(self) -> None:
        """Close every connection; what was queued stays queued."""
        if self._webhook:
            self._webhook.cancel()
            with suppress(asyncio.CancelledError):
                await self._webhook
        if self._runner:
            await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    # People and chats

    @property
    def bot(self) -> User:
        return self.world.bot

    def user(
        self,
        name: str,
        *,
        language: str | None = "en",
        username: str | None = None,
        is_bot: bool = False,
    ) -> User:
        """An account nobody has met yet."""
        return self.world.add_user(name, language=language, username=username, is_bot=is_bot)

    def private_chat(self, user: User) -> Chat:
        """The chat of a user who has started the bot."""
        return self.world.add_chat(
            id=user.id,
            type="private",
            title=user.first_name,
            username=user.username,
            members={user.id: "member", self.bot.id: "member"},
        )

    def alone(self, name: str, *, language: str | None = "en") -> tuple[User, Chat]:
        """An account that has started the bot, and its private chat."""
        user = self.user(name, language=language)
        return user, self.private_chat(user)

    def group(
        self,
        title: str,
        *,
        members: Sequence[User] = (),
        admins: Sequence[User] = (),
        basic: bool = False,
        forum: bool = False,
        privacy_mode: bool | None = None,
        bot_status: Status = "member",
        username: str | None = None,
    ) -> Chat:
        """A supergroup, or a basic group that can still migrate; the first admin owns it.

        Privacy mode is the server's unless given: it counts from when a bot joined a group.
        """
        assert not (basic and forum), "a basic group has no topics"
        number = self.world.number()
        status: dict[int, Status] = {user.id: "administrator" for user in admins}
        status |= {user.id: "creator" for user in admins[:1]}
        status |= {user.id: "member" for user in members if user.id not in status}
        return self.world.add_chat(
            id=-4_000_000 - number if basic else -1_000_000_000_000 - number,
            type="group" if basic else "supergroup",
            title=title,
            username=username,
            forum=forum,
            privacy_mode=self.world.privacy_mode if privacy_mode is None else privacy_mode,
            members=status | {self.bot.id: bot_status},
        )

    def channel(
        self,
        title: str,
        *,
        username: str | None = None,
        admins: Sequence[User] = (),
        bot_posts: bool = True,
    ) -> Chat:
        """A channel that the bot administers, with other admins."""
        return self.world.add_chat(
            id=-1_000_000_000_000 - self.world.number(),
            type="channel",
            title=title,
            username=username,
            bot_posts=bot_posts,
            members=dict.fromkeys((self.bot.id, *(admin.id for admin in admins)), "administrator"),
        )

    # Trouble

    def fail(
        self,
        method: str,
        *,
        error: int | Trouble,
        times: int = 1,
        chat: Chat | None = None,
        retry_after: int | None = None,
        migrate_to_chat_id: int | None = None,
        description: str | None = None,
    ) -> None:
        """Let the next calls of a method fail (`*` is any method), in one chat or in all.

        An int is answered with that code; the words say what happens to the connection.
        """
        chat_id = chat.id if chat else None
        self._endpoint.faults.append(
            Fault(method, error, times, chat_id, retry_after, migrate_to_chat_id, description)
        )

    def redeliver(self, update_id: int) -> None:
        """Hand an update out once more, although it was acknowledged."""
        self.world.updates.redeliver(update_id)

    def malformed_update(self, kind: str = "message", content: object = "not an object") -> Update:
        """Queue an update with any content at all."""
        return self.world.publish(kind, content)

    # What was seen

    @property
    def updates(self) -> dict[int, Update]:
        """Every update so far, by id: how often it was handed out, and what answers it."""
        return self.world.updates.all

    @property
    def pending(self) -> int:
        """How many updates are not acknowledged."""
        return len(self.world.updates.pending)

    @property
    def calls(self) -> list[Call]:
        """Every call so far, in order of arrival."""
        return self._endpoint.calls

    @property
    def errors(self) -> list[str]:
        """Requests that no real server would have understood: a clean test has none."""
        return self._endpoint.errors

    def menu(self, user: User, chat: Chat) -> dict[str, str]:
        """Descriptions by command, as that person sees them in that chat."""
        return self.world.menus.shown(user, chat)

    def called(self, method: str) -> list[Call]:
        """The calls of one method so far."""
        return [call for call in self.calls if call.method == method]

    async def until_called(
        self, method: str, times: int = 1, timeout: float = PATIENCE
    ) -> list[Call]:
        """The calls of a method once there are that many."""
        await self._until(
            lambda: len(self.called(method)) >= times, timeout, f"not {times} calls of {method}"
        )
        return self.called(method)

    async def until_acknowledged(self, timeout: float = PATIENCE) -> None:
        """Return when the bot has taken and confirmed every update."""
        await self._until(lambda: not self.pending, timeout, "updates are still pending")

    async def _until(self, seen: Callable[[], bool], timeout: float, what: str) -> None:
        try:
            await self.world.signal.until(seen, timeout)
        except TimeoutError:
            raise AssertionError(f"{what} within {timeout} s") from None
