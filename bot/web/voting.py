"""Votes of the page's visitors, and the wall of the best-voted hits."""

import hashlib
import hmac
import json
from dataclasses import dataclass, replace
from datetime import datetime

from bot.app import App
from bot.listening.connections import network_of
from bot.web.shared_state import SharedState
from db.chat.answers import Answers
from db.chat.chats import Chats
from db.chat.wall import VotingKeys, Wall
from engine.chat import Answer, Chat, Favourite, Tally, WallRule
from engine.errors import UsageError
from engine.messages import Message
from engine.search import Prophecy

# The page is a chat like any other, with everybody in it.
_PLATFORM, _PAGE = "web", "page"
SHOWN_ON_WALL = 30


@dataclass(frozen=True, slots=True)
class Ballots:
    """The store of the page's votes."""

    shared: SharedState

    @property
    def _answers(self) -> Answers:
        return Answers(self.shared.app.database)

    async def tallies(self, prophecy: Prophecy) -> dict[str, Tally]:
        """Return the votes on the hits of a prophecy, by the ids of their texts."""
        chat = await Chats(self.shared.app.database).known(_PLATFORM, _PAGE)
        answer = await self._answers.last(chat, question_key(prophecy)) if chat else None
        if answer is None:
            return {}
        by_rank = await self._answers.tallies(answer)
        ids = {hit.rank: hit.candidate.external_id for hit in answer.prophecy.hits}
        return {ids[rank]: tally for rank, tally in by_rank.items() if rank in ids}

    async def vote(
        self, prophecy: Prophecy, text_id: str, voter: str, value: int, *, now: datetime
    ) -> None:
        """Count a vote (1 or -1), replacing any earlier one of the same voter.

        Raises UsageError if the prophecy has no such text.
        """
        chat = await self._chat()
        answer = await self._answers.last(chat, question_key(prophecy))
        if answer is None or _rank(answer.prophecy, text_id) is None:
            if _rank(prophecy, text_id) is None:
                raise UsageError(Message("This text is not among those that were found."))
            answer = Answer(prophecy=prophecy, asked_at=now, first=0, last=len(prophecy.hits))
            kept = await self._answers.keep(chat, question_key(prophecy), answer)
            answer = replace(answer, id=kept)
        rank = _rank(answer.prophecy, text_id)
        if rank is not None:
            await self._answers.vote(answer, rank, f"{_PLATFORM}:{voter}", value, now=now)

    async def wall(self) -> list[Favourite]:
        """Return the best-voted hits that everybody may see."""
        wall = Wall(self.shared.app.database, await wall_rule(self.shared.app))
        shown = [one.name for one in await self.shared.app.corpora.list()]
        return await wall.shown(shown, limit=SHOWN_ON_WALL)

    async def _chat(self) -> Chat:
        chats = Chats(self.shared.app.database)
        return await chats.meet(_PLATFORM, _PAGE, private=False, title=None)


async def wall_rule(app: App) -> WallRule:
    """Return which votes are everybody's: those of the page, and of the chats that the settings
    name. What strangers wrote on the page is shown to nobody else unless the rule lets it."""
    chats, settings = Chats(app.database), app.settings.web
    page = await chats.known(_PLATFORM, _PAGE)
    places = [(platform, id_) for platform, _, id_ in (one.partition(":") for one in settings.wall)]
    named = [await chats.known(*place) for place in places if place != (_PLATFORM, _PAGE)]
    trusted = tuple(chat.id for chat in named if chat)
    return WallRule(
        chats=(*trusted, *((page.id,) if page else ())),
        trusted=trusted,
        voters=settings.wall_voters,
    )


async def voter_of(shared: SharedState, address: str) -> str:
    """Return the voter's id: one address (a /64 of IPv6) is one voter per day.

    The id does not reveal the address: its hash key is deleted at the end of the day.
    """
    key = await VotingKeys(shared.app.database).today(now=shared.now())
    return hmac.new(key, network_of(address).encode(), hashlib.sha256).hexdigest()[:32]


def question_key(prophecy: Prophecy) -> str:
    """Return a key that identifies a question by its words, date and corpus."""
    headline = prophecy.headline
    date = headline.date.isoformat() if headline.date else None
    written = json.dumps([headline.text, date, prophecy.corpus]).encode()
    return hashlib.sha256(written).hexdigest()[:32]


def _rank(prophecy: Prophecy, text_id: str) -> int | None:
    ranks = (hit.rank for hit in prophecy.hits if hit.candidate.external_id == text_id)
    return next(ranks, None)
