"""The votes of the page's visitors: who voted for what, and which votes everybody may see."""

import hashlib
import hmac
import json
from dataclasses import replace
from datetime import datetime

from bot.settings.sections import WebSettings
from db.chat.answers import Answers, VotingKeys, Wall
from db.chat.chats import Chats
from db.pool import Database
from engine.chat import Answer, Tally, WallRule
from engine.errors import UsageError
from engine.messages import Message
from engine.search import Prophecy

# The page is a chat like any other, with everybody in it.
_PLATFORM, _PAGE = "web", "page"


class Ballots:
    """The store of the page's votes."""

    def __init__(self, database: Database) -> None:
        self._answers, self._chats = Answers(database), Chats(database)

    async def tallies(self, prophecy: Prophecy) -> dict[str, Tally]:
        """Return the votes on the hits of a prophecy, by the ids of their texts."""
        chat = await self._chats.find_chat(_PLATFORM, _PAGE)
        answer = await self._answers.last(chat, _question_key(prophecy)) if chat else None
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
        chat = await self._chats.meet(_PLATFORM, _PAGE, private=False, title=None)
        answer = await self._answers.last(chat, _question_key(prophecy))
        rank = _find_rank(answer.prophecy, text_id) if answer else None
        if answer is None or rank is None:
            rank = _find_rank(prophecy, text_id)
            if rank is None:
                raise UsageError(Message("This text is not among those that were found."))
            answer = Answer(prophecy=prophecy, asked_at=now, first=0, last=len(prophecy.hits))
            kept = await self._answers.keep(chat, _question_key(prophecy), answer)
            answer = replace(answer, id=kept)
        await self._answers.vote(answer, rank, f"{_PLATFORM}:{voter}", value, now=now)


async def open_wall(database: Database, settings: WebSettings) -> Wall:
    """Return what may be shown of what was voted for."""
    return Wall(database, await read_wall_rule(database, settings))


async def read_wall_rule(database: Database, settings: WebSettings) -> WallRule:
    """Return which votes are everybody's: those of the page, and of the chats that the settings
    name. What strangers wrote on the page is shown to nobody else unless the rule lets it."""
    chats = Chats(database)
    page = await chats.find_chat(_PLATFORM, _PAGE)
    places = [
        (platform, id_) for platform, _, id_ in (place.partition(":") for place in settings.wall)
    ]
    named = [await chats.find_chat(*place) for place in places if place != (_PLATFORM, _PAGE)]
    trusted = tuple(chat.id for chat in named if chat)
    return WallRule(
        chats=(*trusted, *((page.id,) if page else ())),
        trusted=trusted,
        voters=settings.wall_voters,
    )


async def identify_voter(database: Database, network: str, *, now: datetime) -> str:
    """Return the voter's id: one address (a /64 of IPv6) is one voter per day.

    The id does not reveal the network: its hash key is deleted at the end of the day.
    """
    key = await VotingKeys(database).today(now=now)
    return hmac.new(key, network.encode(), hashlib.sha256).hexdigest()[:32]


def _question_key(prophecy: Prophecy) -> str:
    """Return a key that identifies a question by its words, date and corpus."""
    headline = prophecy.headline
    date = headline.date.isoformat() if headline.date else None
    written = json.dumps([headline.text, date, prophecy.corpus]).encode()
    return hashlib.sha256(written).hexdigest()[:32]


def _find_rank(prophecy: Prophecy, text_id: str) -> int | None:
    ranks = (hit.rank for hit in prophecy.hits if hit.candidate.external_id == text_id)
    return next(ranks, None)
