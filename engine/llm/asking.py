"""One question to the model, asked again with a repair prompt if the answer is unusable."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Protocol

from engine.errors import CorpusWithheld, ModelAnswerCut, ModelAnswerInvalid, ModelError
from engine.llm.endpoint import Consent
from engine.llm.wire import ChatAnswer, PromptMessage
from engine.values import Corpus

_MOST_STARTS = 64  # attempts to parse an object


def objects(text: str) -> Iterator[dict[str, object]]:
    """Yield the outermost JSON objects in a text; if one is cut off, those within it."""
    decoder, at = json.JSONDecoder(), text.find("{")
    for _ in range(_MOST_STARTS):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The system prompt, what to add to it the second time, and the schema of the answer.

    Without `repair`, a question is asked only once. The version enters cache keys and logs; it is
    made from all of the texts, so that no answer to a changed prompt comes from a cache.
    """

    system: str
    repair: str | None = None
    schema: Mapping[str, object]  # its "name" is that of the prompt
    version: str = field(init=False)

    def __post_init__(self) -> None:
        texts = json.dumps([self.system, self.repair, self.schema])
        digest = sha256(texts.encode()).hexdigest()[:12]
        object.__setattr__(self, "version", f"{self.schema['name']}-{digest}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelQuestion:
    """A question. `corpora` are those that the content is about or has texts from."""

    prompt: Prompt
    content: str
    corpora: Sequence[Corpus]
    purpose: str  # name in the ledger


class ChatModel(Protocol):
    """A model that answers chats: a client, or the record of one."""

    @property
    def model(self) -> str:
        """Name of the preferred model."""

    @property
    def consent(self) -> Consent:
        """Which private corpora it may read."""

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        purpose: str,
        now: datetime,
        schema: Mapping[str, object] | None = None,
    ) -> ChatAnswer:
        """Return the answer, as `engine.llm.client.ChatClient.complete` does. Raises ModelError."""


async def ask_and_repair(
    client: ChatModel,
    question: ModelQuestion,
    hear: Callable[[ChatAnswer], bool],
    *,
    now: datetime,
) -> ModelError | None:
    """Ask until `hear` finds an answer usable: at most twice, or once without a repair prompt.

    Returns the failure of the last call, or None if it was answered, usable or not. An answer
    that was cut off is not requested again, as it would be cut off again. If the endpoint may not
    read one of the corpora, nothing is sent and CorpusWithheld is returned. Raises what the ledger
    raises.
    """
    try:
        client.consent.require(question.corpora)
    except CorpusWithheld as withheld:
        return withheld
    error: ModelError | None = None
    prompt = question.prompt
    repaired = () if prompt.repair is None else (prompt.system + prompt.repair,)
    for system in (prompt.system, *repaired):
        try:
            answer = await client.complete(
                [PromptMessage("system", system), PromptMessage("user", question.content)],
                purpose=question.purpose,
                now=now,
                schema=prompt.schema,
            )
        except ModelError as failure:
            error = failure
            if is_unreadable(failure):
                continue
            return error
        error = None
        if hear(answer):
            break
    return error


def is_unreadable(failure: ModelError) -> bool:
    """Return whether the model answered, but a second attempt may give a better answer."""
    return isinstance(failure, ModelAnswerInvalid) and not isinstance(failure, ModelAnswerCut)
