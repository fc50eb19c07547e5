"""Asks who somebody is, as far as it matters, and says whom to ask instead."""

from collections.abc import Collection

from bot.commands.rights import RIGHTS, Effect, Where, Who, may
from bot.face.request import Request
from bot.i18n.words import marked

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
