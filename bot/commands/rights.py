"""Who may do what where: one table, to which every command and every button is held; and what is
said to those who may not."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from bot.face.request import Place, Request
from bot.i18n.words import marked


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


_ADMINS_ONLY = marked("Only admins of this chat may use /{name}. Ask one of them.")
# Where the platform knows no admins of a single chat.
_ADMINS_ONLY_ON = {
    "slack": marked("Only admins of this workspace may use /{name}. Ask one of them."),
}


async def refusal(
    name: str, effect: Effect, request: Request, operators: Collection[str]
) -> str | None:
    """Return why somebody may not use what is called `name`, and whom to ask; None: go on.

    The platform is asked only where its answer decides. Raises DeliveryError when it gives none.
    """
    where = Where.of(request.place)
    if may(await _who(request, effect, where, operators), effect, where):
        return None
    words, least = request.words, RIGHTS[effect, where]
    if least is None:
        return words.say("/{name} needs a chat. Use it in one with me.", name=name)
    if least is Who.OPERATOR:
        return words.say(
            "Only those named in chat.admins may use /{name}, which changes what every chat is"
            " told. Ask whoever runs this bot; you are {who}.",
            name=name,
            who=request.who,
        )
    said = _ADMINS_ONLY_ON.get(request.place.platform, _ADMINS_ONLY)
    return words.say(said, name=name)


async def _who(request: Request, effect: Effect, where: Where, operators: Collection[str]) -> Who:
    if request.who in operators:
        return Who.OPERATOR
    decides = may(Who.CHAT_ADMIN, effect, where) and not may(Who.MEMBER, effect, where)
    return Who.CHAT_ADMIN if decides and await request.is_admin() else Who.MEMBER
