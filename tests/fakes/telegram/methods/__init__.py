"""The methods of the Bot API that the stand-in knows, by name."""

from collections.abc import Mapping

from tests.fakes.telegram.methods import answering, chats, editing, receiving, sending, setup
from tests.fakes.telegram.methods.handler import Handler

HANDLERS: Mapping[str, Handler] = {
    **receiving.HANDLERS,
    **sending.HANDLERS,
    **editing.HANDLERS,
    **answering.HANDLERS,
    **chats.HANDLERS,
    **setup.HANDLERS,
}

__all__ = ["HANDLERS", "Handler"]
