"""Who may do what where: one table, to which every command and every button is held."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from bot.face.request import Place


class Who(IntEnum):
    """Who asks, as seen from one chat. Each may do what those before may.

    Whoever administers another chat is an admin there, and here a member like all others.
    """

    MEMBER = 0
    CHAT_ADMIN = 1  # of this group or channel, as its platform says
    OPERATOR = 2  # named in chat.admins


class Where(StrEnum):
    """Kinds of places."""

    PRIVATE = "in private"  # one person and the bot: the chat is that person's
    SHARED = "in a group or channel"
    NO_CHAT = "inline"  # no chat stands behind the place, so that nothing is kept about it

    @classmethod
    def of(cls, place: Place) -> "Where":
        """Return the kind of a place."""
        if not place.kept:
            return cls.NO_CHAT
        return cls.PRIVATE if place.private else cls.SHARED


class Effect(StrEnum):
    """What a command or a button does, and to whom."""

    ANSWERS = "answers"  # and changes nothing that others see
    POSTS = "votes or posts"  # in this chat
    STEERS_CHAT = "steers this chat"
    STEERS_ALL = "steers every chat"


@dataclass(frozen=True, slots=True)
class Act:
    """What one use of a command or button does. The daily quotas count it when `counted`:
    it searches, asks a model, writes, draws, or reads a page of the web."""

    effect: Effect
    counted: bool = False


LOOKS = Act(Effect.ANSWERS)
SEARCHES = Act(Effect.ANSWERS, counted=True)

# Who may, from which one on; None: nobody.
RIGHTS: Mapping[tuple[Effect, Where], Who | None] = {
    (Effect.ANSWERS, Where.PRIVATE): Who.MEMBER,
    (Effect.ANSWERS, Where.SHARED): Who.MEMBER,
    (Effect.ANSWERS, Where.NO_CHAT): Who.MEMBER,
    (Effect.POSTS, Where.PRIVATE): Who.MEMBER,
    (Effect.POSTS, Where.SHARED): Who.MEMBER,
    (Effect.POSTS, Where.NO_CHAT): None,
    (Effect.STEERS_CHAT, Where.PRIVATE): Who.MEMBER,
    (Effect.STEERS_CHAT, Where.SHARED): Who.CHAT_ADMIN,
    (Effect.STEERS_CHAT, Where.NO_CHAT): None,
    (Effect.STEERS_ALL, Where.PRIVATE): Who.OPERATOR,
    (Effect.STEERS_ALL, Where.SHARED): Who.OPERATOR,
    # Inline queries are sent while somebody still types.
    (Effect.STEERS_ALL, Where.NO_CHAT): None,
}


def may(who: Who, effect: Effect, where: Where) -> bool:
    """Tell whether somebody may do what has this effect there."""
    least = RIGHTS[effect, where]
    return least is not None and who >= least
