"""Explains failures: to the asker in a reply, and to operators in the log."""

import logging
import secrets
from collections.abc import Container

from bot.face.reply import Reply, aside
from bot.face.request import Request
from bot.i18n.words import Words, words_for
from bot.incident import reason
from engine.errors import PresagioError, StorageError

logger = logging.getLogger("presagio.conversation")


def words_to(request: Request, operators: Container[str]) -> Words:
    """Return the words for an asker: the owner and `operators` ("platform:id") are told in private
    what only they can mend."""
    runs_me = request.place.private and (request.owner or request.who in operators)
    return words_for(request.words.language, operator=runs_me)


def explanation(request: Request, error: PresagioError) -> str:
    """Return what to tell about an expected error. What an operator has to mend is logged."""
    if error.plain:
        logger.warning("%s %s: %s", *request.event, error)
    return request.words.render(error.said)


def apology(request: Request, error: Exception) -> Reply:
    """Log an error under an incident number, and return the reply that quotes it."""
    incident = secrets.token_hex(4)
    logger.error("incident %s: %s %s: %s", incident, *request.event, reason(error))
    words = request.words
    if isinstance(error, StorageError):
        said = words.say("Sorry, my database does not answer. Try again in a few minutes.")
    else:
        said = words.say("Sorry, something went wrong.")
    number = words.say("Its number in the log is {incident}.", incident=incident)
    return aside(request, f"{said} {number}")
