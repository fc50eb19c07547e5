"""The last answer of each conversation, for /more and /why."""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from engine.types import Hit, Prophecy

_CONVERSATIONS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A prophecy and which of its hits were shown last: those from `first` up to `last`."""

    prophecy: Prophecy
    asked_at: datetime
    first: int
    last: int

    @property
    def page(self) -> tuple[Hit, ...]:
        """The hits that were shown last."""
        return self.prophecy.hits[self.first : self.last]


class AnswerMemory(Protocol):
    """Where last answers are kept. A store that lies in a database may raise StorageError."""

    async def get(self, conversation_id: str) -> Answer | None:
        """Return the last answer, or None."""

    async def put(self, conversation_id: str, answer: Answer) -> None:
        """Replace the last answer."""


class LocalMemory:
    """An AnswerMemory of this process. The conversations that were silent longest are forgotten."""

    def __init__(self, conversations: int = _CONVERSATIONS) -> None:
        self._limit = conversations
        self._answers: OrderedDict[str, Answer] = OrderedDict()

    async def get(self, conversation_id: str) -> Answer | None:
        return self._answers.get(conversation_id)

    async def put(self, conversation_id: str, answer: Answer) -> None:
        self._answers[conversation_id] = answer
        self._answers.move_to_end(conversation_id)
        if len(self._answers) > self._limit:
            self._answers.popitem(last=False)
