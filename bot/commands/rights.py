"""The table of rights that applies to all commands and buttons, and the replies that refuse a
request."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from bot.i18n.words import marked
from bot.request import Place, Request


class Who(IntEnum):
    """The role of the asker in one chat. Each role includes the rights of those before it.

    An admin of another chat is a plain member in this one.
    """

    MEMBER = 0
    CHAT_ADMIN = 1  # of this group or channel, according to the platform
    OPERATOR = 2  # named in chat.admins
    OWNER = 3  # has used the code of this platform


class Where(StrEnum):
    """Kinds of places."""

    PRIVATE = "in private"  # a chat of one person with the bot
    SHARED = "in a group or channel"
    NO_CHAT = "inline"  # a place without a chat, about which nothing is stored

    @classmethod
    def of(cls, place: Place) -> "Where":
        """Return the kind of a place."""
        if not place.kept:
            return cls.NO_CHAT
        return cls.PRIVATE if place.private else cls.SHARED


class Effect(StrEnum):
    """What a command or a button affects."""

    ANSWERS = "answers"  # changes nothing that others see
    POSTS = "votes or posts"  # in this chat
    STEERS_CHAT = "steers this chat"
    STEERS_ALL = "steers every chat"
    OWNS = "lets people in, or sees what they cost"


@dataclass(frozen=True, slots=True)
class Act:
    """The effect of one use of a command or button. The daily quotas count it if `counted`: it
    searches, asks a model, writes, draws, or reads a web page."""

    effect: Effect
    counted: bool = False


LOOKS = Act(Effect.ANSWERS)

SEARCHES = Act(Effect.ANSWERS, counted=True)

# The lowest role that may; None means nobody.
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
    # Inline queries are sent while the person is still typing.
    (Effect.STEERS_ALL, Where.NO_CHAT): None,
    (Effect.OWNS, Where.PRIVATE): Who.OWNER,
    # Names of people and sums of money are for nobody else in a group.
    (Effect.OWNS, Where.SHARED): None,
    (Effect.OWNS, Where.NO_CHAT): None,
}


def may(who: Who, effect: Effect, where: Where) -> bool:
    """Return whether the role permits the effect in this kind of place."""
    least = RIGHTS[effect, where]
    return least is not None and who >= least


_ADMINS_ONLY = marked("Only admins of this chat may use /{name}. Ask one of them.")

# For platforms without admins of single chats.
_ADMINS_ONLY_ON = {
    "slack": marked("Only admins of this workspace may use /{name}. Ask one of them."),
}


async def refusal(
    name: str, effect: Effect, request: Request, operators: Collection[str]
) -> str | None:
    """Return why the asker may not use `name` and whom to ask, or None if it is permitted.

    The platform is queried only if its answer matters. Raises DeliveryError if it does not answer.
    """
    where = Where.of(request.place)
    if may(await _who(request, effect, where, operators), effect, where):
        return None
    words, least = request.words, RIGHTS[effect, where]
    if least is None and where is Where.SHARED:
        return words.say("/{name} works in a private chat with me alone.", name=name)
    if least is None:
        return words.say("/{name} needs a chat. Use it in one with me.", name=name)
    if least is Who.OWNER:
        return words.say("Only the owner of this bot may use /{name}.", name=name)
    if least is Who.OPERATOR:
        return words.say(
            "Only my operators may use /{name}, which changes what every chat is told. Ask whoever"
            " runs me; you are {who}.",
            name=name,
            who=request.who,
        )
    said = _ADMINS_ONLY_ON.get(request.place.platform, _ADMINS_ONLY)
    return words.say(said, name=name)


async def _who(request: Request, effect: Effect, where: Where, operators: Collection[str]) -> Who:
    if request.owner:
        return Who.OWNER
    if request.who in operators:
        return Who.OPERATOR
    decides = may(Who.CHAT_ADMIN, effect, where) and not may(Who.MEMBER, effect, where)
    return Who.CHAT_ADMIN if decides and await request.inquiries.is_admin() else Who.MEMBER
