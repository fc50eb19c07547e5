"""What only the owner decides: who is let in. Asks the owner, and tells others what was decided."""

import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.adapter import Poster
from bot.i18n.words import words_for
from bot.replies.limits import cut
from bot.reply import Action, Button, Reply
from bot.request import Request
from db.chat.chats import Access, Chats
from engine.chat import Admission, AdmissionState, BotOwner
from engine.errors import PresagioError

logger = logging.getLogger("presagio.conversation")

# Without 0, 1, I, L and O, which people mistake for one another: 8 characters are 39 bits.
_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
_CODE_LENGTH = 8
# Whoever finds it later, in a log or a screenshot, can do nothing with it.
CODE_VALID = timedelta(days=1)
CODE_SHOWN = CODE_VALID / 2  # for as long it is shown again; then another one is made
_LONGEST_TITLE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """The owners' store, and the platforms on which they are reached."""

    access: Access
    chats: Chats
    posters: Mapping[str, Poster] = field(default_factory=dict)

    async def code(self, platform: str, *, now: datetime, again: bool = False) -> str | None:
        """Return the code that makes somebody the owner, or None if the platform has an owner.

        It holds for another CODE_SHOWN at least. With `again`, it replaces the owner.
        """
        if not again and await self.access.owner(platform):
            return None
        fresh = "".join(secrets.choice(_ALPHABET) for _ in range(_CODE_LENGTH))
        return await self.access.code(platform, fresh, now=now, fresh_since=now - CODE_SHOWN)

    async def claim(self, request: Request, code: str) -> bool:
        """Make the writer of a private message the owner if the code is right."""
        place, person = request.place, request.person
        owner = BotOwner(
            platform=place.platform, person=person.id, chat=place.chat_id, language=person.language
        )
        return await self.access.claim(
            owner, code.strip().upper(), now=request.now, made_since=request.now - CODE_VALID
        )

    async def ask(self, request: Request) -> bool:
        """Ask the owner to let the chat in, at most once. Return False if that is impossible now.

        Raises StorageError.
        """
        place = request.place
        owner = await self.access.owner(place.platform)
        if owner is None:
            return False
        title = asker_title(request)
        if not await self.access.ask(
            place.platform,
            place.chat_id,
            title=title,
            language=request.person.language,
            now=request.now,
        ):
            return True
        if await self._tell(owner.platform, owner.chat, _question(owner, request, title)):
            return True
        await self.access.take_back(place.platform, place.chat_id)
        return False

    async def announce(self, admission: Admission) -> None:
        """Tell a chat that it was let in. A failure is logged."""
        words = words_for(admission.language)
        said = words.say("The owner of this bot has let you in. Paste a headline or a link.")
        reply = Reply(words=words, text=said)
        await self._tell(admission.platform, admission.external_id, reply, admission.thread)

    async def _tell(
        self, platform: str, chat_id: str, reply: Reply, thread: str | None = None
    ) -> bool:
        """Post in a chat that the bot knows, and return whether that succeeded."""
        poster = self.posters.get(platform)
        chat = await self.chats.find_chat(platform, chat_id)
        if poster is None or chat is None:
            return False
        try:
            await poster.post(chat, thread, reply, key=f"access:{secrets.token_hex(8)}")
        except PresagioError as error:
            logger.warning("%s:%s was not told: %s", platform, chat_id, error)
            return False
        return True


def asker_title(request: Request) -> str:
    """Return what the owner is shown of a chat: a name, a group's title, or its id."""
    place, person = request.place, request.person
    shown = (person.name if place.private else place.title) or place.chat_id
    return cut(" ".join(shown.split()), _LONGEST_TITLE)


def decision_button(label: str, state: AdmissionState, name: str) -> tuple[Button, ...]:
    """Return a button, as a row, that decides about a chat; none if its name is too long."""
    value = f"{state.value}={name}"
    if not Action.fits(f"access::{value}"):
        return ()
    return (Button(label=label, action=Action(name="access", value=value)),)


def _question(owner: BotOwner, request: Request, title: str) -> Reply:
    words, place = words_for(owner.language), request.place
    name = f"{place.platform}:{place.chat_id}"
    who = request.person.name or request.who
    if place.private:
        said = words.say("{who} ({name}) asks to use this bot.", who=title, name=name)
    else:
        said = words.say(
            "{who} asks to use this bot in {title} ({name}).", who=who, title=title, name=name
        )
    row = (
        *decision_button(words.say("Allow"), AdmissionState.ALLOWED, name),
        *decision_button(words.say("Refuse"), AdmissionState.REFUSED, name),
    )
    return Reply(words=words, text=said, buttons=(row,) if row else ())
