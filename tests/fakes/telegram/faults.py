"""Trouble on order: refusals, silence, cut connections."""

from dataclasses import dataclass
from typing import Literal

from tests.fakes.telegram.errors import Refusal, too_many_requests, upgraded

Trouble = Literal[
    "hang", "drop_connection_before", "drop_connection_after_processing", "bad_gateway"
]
_WORDS = {
    400: "Bad Request: wrong request",
    403: "Forbidden: bot was blocked by the user",
    409: "Conflict: terminated by other getUpdates request",
    500: "Internal Server Error",
}


@dataclass
class Fault:
    """What happens to the next `times` calls of a method (`*` is any)."""

    method: str
    error: int | Trouble
    times: int = 1
    chat_id: int | None = None
    retry_after: int | None = None
    migrate_to_chat_id: int | None = None
    description: str | None = None

    def concerns(self, method: str, chat_id: object) -> bool:
        if self.times < 1 or self.method not in ("*", method):
            return False
        return self.chat_id is None or self.chat_id == chat_id

    def refusal(self) -> Refusal | None:
        """The answer to give, where the trouble is an answer."""
        if not isinstance(self.error, int):
            return None
        if self.error == 429:
            return too_many_requests(self.retry_after or 1)
        if self.migrate_to_chat_id is not None:
            return upgraded(self.migrate_to_chat_id)
        words = _WORDS.get(self.error, "Internal Server Error")
        return Refusal(self.error, self.description or words)


def take(faults: list[Fault], method: str, chat_id: object) -> Fault | None:
    """The first fault that concerns this call, used up by one."""
    for fault in faults:
        if fault.concerns(method, chat_id):
            fault.times -= 1
            return fault
    return None
