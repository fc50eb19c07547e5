"""What an asker is told of a failure, and what the log is."""

import logging
import secrets
from collections.abc import Container

from bot.face.reply import Reply, aside
from bot.face.request import Request
from bot.incident import reason
from engine.errors import ModelError, PresagioError, StorageError

logger = logging.getLogger("presagio.conversation")


def explanation(request: Request, error: PresagioError, *, operators: Container[str]) -> str:
    """Return what to tell about an expected error.

    What is wrong with the model is for `operators` ("platform:id") to mend, not for the asker.
    """
    words = request.words
    if not isinstance(error, ModelError):
        return words.render(error.said)
    logger.warning("%s %s: %s", *request.event, error)
    if request.who in operators:
        return words.render(error.said)
    return words.say("I cannot ask my model just now. Try again later.")


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
