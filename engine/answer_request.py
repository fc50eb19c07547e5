"""What is sent for an answer: the question, then one numbered passage a line as JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from hashlib import sha256

from engine.answer_types import Passage, Question
from engine.citations import bare
from engine.judge_request import one_line
from engine.prompts import ANSWER_VERSION
from engine.wording import Wording

QUESTION_LENGTH = 1000
EARLIER = 3  # questions of the thread
_CONTEXT_LENGTH = 200
_NAME_LENGTH = 60
_CUT = "…"


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """One question to the model, about the passages 1..`given`."""

    content: str
    given: int
    key: str  # cache key


def build_request(
    question: Question, passages: Sequence[Passage], *, model: str, length: int
) -> AnswerRequest:
    """Write the request; `length` is what is shown of a passage, in characters."""
    wording = Wording.of(passages)
    lines = [
        _line(number, passage, wording, length) for number, passage in enumerate(passages, start=1)
    ]
    content = "\n".join([_question(question), *lines])
    key = sha256(json.dumps([ANSWER_VERSION, model, content]).encode()).hexdigest()
    return AnswerRequest(content=content, given=len(passages), key=key)


def _question(question: Question) -> str:
    asked: dict[str, object] = {"question": one_line(question.text, QUESTION_LENGTH)}
    if question.earlier:
        earlier = question.earlier[-EARLIER:]
        asked["earlier"] = [one_line(text, QUESTION_LENGTH) for text in earlier]
    return _json(asked)


def _line(number: int, passage: Passage, wording: Wording, length: int) -> str:
    """Return a passage. Its own "[1]" becomes "(1)": only the request numbers passages."""
    found = passage.hit.candidate
    shown: dict[str, object] = {
        "i": number,
        "date": found.created_at.astimezone(UTC).date().isoformat(),
    }
    if found.author:
        shown["author"] = bare(one_line(found.author, _NAME_LENGTH))
    if found.context:
        shown["reply_to"] = bare(one_line(found.context, _CONTEXT_LENGTH))
    shown["text"] = _excerpt(found.text, wording, length)
    return _json(shown)


def _excerpt(text: str, wording: Wording, length: int) -> str:
    """Return the part of a text around what the question found in it."""
    excerpt = wording.window(text, length // 2)
    before, after = (_CUT if cut else "" for cut in (excerpt.before, excerpt.after))
    return before + bare(one_line(excerpt.text, length)) + after


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
