"""Stores chats, their settings and who may use them; forgets what a person or a chat left here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import asyncpg

from db.connection import Connection, Row, list_values, read_row
from db.pool import Store
from engine.chat import Admission, AdmissionState, AskOutcome, BotOwner, Chat, Listening, Standing

_QUOTAS_KEPT = timedelta(days=7)
_WAITING_KEPT = timedelta(days=1)
_MAX_WAITING = 20  # chats, so that strangers cannot flood the owner with questions
_ROOM_AFTER = timedelta(days=1)  # after which who waits without an answer makes room for others
_MAX_USERS = 20
_SETTINGS = (
    "id", "language", "time_zone", "corpus", "listening", "threshold", "quiet_from", "quiet_to",
    "picture", "full_answers", "asked_in",
)  # fmt: skip
# Of the states of a person and of the chat in which the person writes, the first counts.
_BEST = (AdmissionState.ALLOWED, AdmissionState.REFUSED, AdmissionState.ASKED)


class Quotas(Store, sql="conversation"):
    """Counts uses by scope and day."""

    async def use(
        self, scope: str, *, now: datetime, title: str | None = None, times: int = 1
    ) -> int:
        """Count one use, or several, and return the number of uses today, these included.

        `title` is who asks, as the owner is to read it.
        """
        today = now.astimezone(UTC).date()
        return int(await self._fetch_value("use", scope, today, title, times))

    async def forget(self, *, now: datetime) -> None:
        """Remove the counts of days before the last week, which the owner may see."""
        await self._execute("forget_quotas", now.astimezone(UTC).date() - _QUOTAS_KEPT)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingMessage:
    """A message as it was written, with its command, and where."""

    message: str
    thread: str | None
    written_at: datetime | None


class Waiting(Store, sql="access"):
    """Reads and writes waiting messages. One may be answered several times, from other archives."""

    async def keep(
        self,
        chat: Chat,
        thread: str | None,
        message: str,
        *,
        written_at: datetime | None,
        now: datetime,
    ) -> int:
        """Store a message and return its id."""
        return int(
            await self._fetch_value("keep_waiting", chat.id, thread, message, written_at, now)
        )

    async def get(self, chat: Chat, number: int) -> WaitingMessage | None:
        """Return a message of this chat, or None if it is forgotten."""
        row = await self._fetch_row("waiting", number, chat.id)
        return read_row(WaitingMessage, row) if row else None

    async def is_asking(self, chat: Chat, thread: str | None, *, since: datetime) -> bool:
        """Return whether the place was asked for an archive since then and nobody has chosen."""
        return bool(await self._fetch_value("open_question", chat.id, thread, since))

    async def list_later(self, number: int) -> Mapping[int, WaitingMessage]:
        """Return what came after a message in its place and nobody has chosen for, by its id."""
        rows = await self._fetch_rows("later_waiting", number)
        return {row["id"]: read_row(WaitingMessage, row) for row in rows}

    async def choose(self, number: int, corpus: str, *, person: str | None, now: datetime) -> None:
        """Note which archive was chosen for a message; who is a `person` ("platform:id") whose
        choice holds for that person alone."""
        await self._execute("choose", number, corpus, person, now)

    async def find_choice(self, chat: Chat, person: str, *, since: datetime) -> str | None:
        """Return the archive that a person chose last in this chat since then, or None."""
        chosen: str | None = await self._fetch_value("last_choice", chat.id, person, since)
        return chosen

    async def forget(self, *, now: datetime) -> None:
        """Remove messages that are older than a day."""
        await self._execute("forget_waiting", now - _WAITING_KEPT)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageCount:
    """How often a person or a chat was answered. `name` is "platform:id"."""

    name: str
    title: str | None
    person: bool
    times: int


class Access(Store, sql="access"):
    """Reads and writes owners, their codes, and admissions."""

    async def owner(self, platform: str) -> BotOwner | None:
        """Return the owner on the platform, if there is one."""
        row = await self._fetch_row("owner", platform)
        return read_row(BotOwner, row, platform=platform) if row else None

    async def find_standing(self, platform: str, *, person: str, chat: str) -> Standing:
        """Return what is known of a person who writes in a chat."""
        row = await self._fetch_row("standing", platform, person, chat)
        assert row is not None  # noqa: S101 - the statement always returns one row
        states = {AdmissionState(state) for state in row["states"] or ()}
        best = next((state for state in _BEST if state in states), None)
        return Standing(owned=row["owned"], owns=row["owns"], state=best)

    async def code(self, platform: str, fresh: str, *, now: datetime, fresh_since: datetime) -> str:
        """Return the platform's unused code, which is `fresh` if there was none made since then."""
        return str(await self._fetch_value("code", platform, fresh, now, fresh_since))

    async def claim(
        self, owner: BotOwner, code: str, *, now: datetime, made_since: datetime
    ) -> bool:
        """Make somebody the owner if the code is the right one and no older; use it up."""
        async with self._database.transaction() as connection:
            used = self._sql["use_code"], owner.platform, code, made_since
            if not await connection.fetchval(*used):
                return False
            values = (owner.platform, owner.person, owner.chat, owner.language, now)
            await connection.execute(self._sql["set_owner"], *values)
        return True

    async def ask(
        self,
        platform: str,
        chat: str,
        *,
        title: str | None,
        language: str,
        now: datetime,
        thread: str | None = None,
        broadcast: bool = False,
    ) -> AskOutcome:
        """Note that a chat asks for leave, unless it asked before or too many wait, all of them for
        less than a day."""
        values = platform, chat, title, language, now, _MAX_WAITING, thread, now - _ROOM_AFTER
        return AskOutcome(await self._fetch_value("ask", *values, broadcast))

    async def count_waiting(self, platform: str) -> int:
        """Return how many chats wait for an answer of the owner."""
        return int(await self._fetch_value("count_waiting", platform))

    async def keep_message(
        self, platform: str, chat: str, message: str, *, thread: str | None, now: datetime
    ) -> None:
        """Keep what a chat that asks has written last, to be answered if it is let in."""
        await self._execute("keep_message", platform, chat, message, thread, now)

    async def take_back(self, platform: str, chat: str) -> None:
        """Forget that a chat asked, because the owner could not be told."""
        await self._execute("take_back", platform, chat)

    async def decide(
        self, platform: str, chat: str, state: AdmissionState, *, now: datetime
    ) -> Admission | None:
        """Store the owner's decision and return it, or None if the chat never asked.

        The message that it kept is forgotten.
        """
        row = await self._fetch_row("decide", platform, chat, state.value, now)
        return read_row(Admission, row) if row else None

    async def record(
        self,
        platform: str,
        chat: str,
        state: AdmissionState,
        *,
        title: str | None,
        language: str,
        now: datetime,
    ) -> None:
        """Store a decision about a chat that did not ask."""
        await self._execute("record", platform, chat, state.value, title, language, now)

    async def admissions(self, platform: str) -> Sequence[Admission]:
        """Return the chats of a platform that asked, those that wait first."""
        rows = await self._fetch_rows("admissions", platform)
        return [read_row(Admission, row) for row in rows]

    async def count_use(self, since: datetime) -> Sequence[UsageCount]:
        """Return who was answered since that day (UTC) and how often, the busiest 20 first."""
        day = since.astimezone(UTC).date()
        rows = await self._fetch_rows("used_since", day, _MAX_USERS)
        return [_read_used(row) for row in rows]

    async def paid(self, since: datetime) -> Mapping[str, float]:
        """Return what models cost since then, in US dollars, by the source of the calls."""
        rows = await self._fetch_rows("paid_since", since)
        return {row["source"]: row["cost_usd"] for row in rows}


def _read_used(row: asyncpg.Record) -> UsageCount:
    what, _, name = row["scope"].partition(":")
    return UsageCount(
        name=name if what == "user" else row["chat"] or row["scope"],
        title=row["title"],
        person=what == "user",
        times=row["used"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """How much was deleted. `compositions` and `votes` are those in chats that remain."""

    chats: int = 0
    votes: int = 0
    compositions: int = 0
    searches: int = 0  # in the search log

    def __bool__(self) -> bool:
        return (self.chats, self.votes, self.compositions, self.searches) != (0, 0, 0, 0)


class Forgetting(Store, sql="forgetting"):
    """Deletes for good. Owners, refused admissions and the counts of today remain, so that nobody
    gets around a limit; what names nobody remains until it expires.
    """

    async def chat(self, platform: str, external_id: str) -> Forgotten:
        """Delete a chat with all that belongs to it. Raises StorageError."""
        async with self._database.transaction() as connection:
            return await self._forget_chat(connection, platform, external_id)

    async def person(self, platform: str, person: str, *, chat: str, now: datetime) -> Forgotten:
        """Delete what is stored about a person, with the private chat. Raises StorageError."""
        who, today = f"{platform}:{person}", now.astimezone(UTC).date()
        async with self._database.transaction() as connection:
            gone = await self._forget_chat(connection, platform, chat)
            await connection.execute(self._sql["admission"], platform, person)
            await connection.execute(self._sql["counts"], who, today)
            await connection.execute(self._sql["questions"], who)
            return Forgotten(
                chats=gone.chats,
                votes=await connection.fetchval(self._sql["votes"], who),
                compositions=await connection.fetchval(self._sql["compositions"], who),
                searches=gone.searches,
            )

    async def _forget_chat(
        self, connection: Connection, platform: str, external_id: str
    ) -> Forgotten:
        named = (platform, external_id)
        feeds = [row["feed_id"] for row in await connection.fetch(self._sql["feeds"], *named)]
        chat_id = await connection.fetchval(self._sql["chat"], *named)
        if chat_id is not None:
            await connection.execute(self._sql["drafts"], chat_id)
            await connection.execute(self._sql["chat_counts"], chat_id)
            await connection.execute(self._sql["unread_feeds"], feeds)
        await connection.execute(self._sql["admission"], *named)
        searches = await connection.fetchval(self._sql["searches"], *named)
        return Forgotten(chats=int(chat_id is not None), searches=searches)


class Chats(Store, sql="conversation"):
    """Reads and writes the chat table."""

    async def meet(
        self,
        platform: str,
        external_id: str,
        *,
        private: bool,
        title: str | None,
        time_zone: str = "UTC",
        asked_in: str | None = None,
    ) -> Chat:
        """Return the chat, storing it if it is new. A chat that speaks is active again.

        `asked_in` is the language of whoever speaks; the chat's first one is kept.
        """
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["chat"], platform, external_id)
            # Write only if something changed: every event comes through here.
            if (
                row is None
                or not row["active"]
                or title not in (None, row["title"])
                or (asked_in and row["asked_in"] is None)
            ):
                row = await connection.fetchrow(
                    self._sql["meet"], platform, external_id, private, title, time_zone, asked_in
                )
        assert row is not None  # noqa: S101 - the statement returns its row either way
        return chat_from(row)

    async def find_chat(self, platform: str, external_id: str) -> Chat | None:
        """Return the chat if it is known."""
        row = await self._fetch_row("chat", platform, external_id)
        return chat_from(row) if row else None

    async def change(self, chat: Chat) -> None:
        """Store the settings of a chat, and nothing else about it."""
        listening = str(chat.listening)
        await self._execute("change", *list_values(chat, _SETTINGS, listening=listening))

    async def move(self, platform: str, old: str, new: str) -> None:
        """Give a chat the id that the platform moved it to, and keep all its data.

        Safe to repeat: a group that becomes a supergroup reports it several times.
        """
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["bring_owed"], platform, old, new)
            await connection.execute(self._sql["forget_moved"], platform, old, new)
            await connection.execute(self._sql["move"], platform, old, new)
            await connection.execute(self._sql["move_admission"], platform, old, new)

    async def set_active(self, platform: str, external_id: str, *, active: bool) -> None:
        """Note that the bot was blocked or removed, or that it is back.

        Does nothing for an unknown chat.
        """
        await self._execute("set_active", platform, external_id, active)


def chat_from(row: Row, prefix: str = "") -> Chat:
    """Return the chat in columns that are named as its fields, after `prefix`."""
    return read_row(Chat, row, prefix, listening=Listening.parse(row[f"{prefix}listening"]))
