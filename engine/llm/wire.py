"""The OpenAI-compatible chat format: building requests and reading answers. No I/O.

Source of the OpenRouter fields: its guides on model fallbacks, provider routing and reasoning.
"""

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, TypeGuard

from engine.errors import ModelAnswerCut, ModelDeclined
from engine.llm.endpoint import Endpoint, Fault, quote_answer, unreadable_answer
from engine.messages import Message
from engine.settings.models import LlmSettings
from engine.values import Usage

# Status for an error inside a 200 that has none: the upstream model failed after it had started.
FAILED_AFTER_START = 502
_ENDS = frozenset({"stop", "end_turn", "stop_sequence", "eos", "tool_calls", "function_call"})
_PROMPT_NAMES = ("prompt_tokens", "input_tokens", "prompt_eval_count")
_COMPLETION_NAMES = ("completion_tokens", "output_tokens", "eval_count")
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,12})?", re.ASCII)
_EVENT = b"data:"
_MOST = 10**8  # tokens, or dollars, of one call: what is above is an error, and fits the ledger


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One turn of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAnswer:
    """A model's answer. `usage` is the sum of all attempts of the call."""

    content: str
    finish_reason: str | None
    model: str
    usage: Usage

    @property
    def finished(self) -> bool:
        """True if the model ended by itself and was not cut off."""
        return (self.finish_reason or "").lower() in _ENDS


def request_body(
    settings: LlmSettings,
    messages: Sequence[PromptMessage],
    schema: Mapping[str, object] | None,
    *,
    openrouter: bool,
    refused: Collection[str] = (),
) -> dict[str, object]:
    """Return the JSON body. `schema` is the value of response_format.json_schema, or None.

    Fallback models and strict parameter routing are `openrouter`'s own fields. Fields that the
    server has `refused` are left out; the older max_tokens takes the place of a refused
    max_completion_tokens. No temperature is sent, because reasoning models refuse it.
    """
    body: dict[str, object] = {
        "model": settings.model,
        "messages": [asdict(message) for message in messages],
        "max_completion_tokens": settings.max_completion_tokens,
    }
    if "max_completion_tokens" in refused:
        body["max_tokens"] = settings.max_completion_tokens
    if schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": dict(schema)}
    if openrouter:
        if settings.fallback_models:
            body["models"] = list(settings.fallback_models)
        if settings.reasoning_effort:
            body["reasoning"] = {"effort": settings.reasoning_effort, "exclude": True}
        if schema is not None and "response_format" not in refused:
            body["provider"] = {"require_parameters": True}
    elif settings.reasoning_effort:
        body["reasoning_effort"] = settings.reasoning_effort
    return {name: value for name, value in body.items() if name not in refused}


def read_completion(body: bytes, endpoint: Endpoint) -> dict[str, object]:
    """Decode the body of a successful response. Raises Fault if it is not a JSON object."""
    payload = decode(body) or _join_events(body)
    if payload is None:
        raise Fault(unreadable_answer(Message("is not a JSON object"), endpoint))
    return payload


def _join_events(body: bytes) -> dict[str, object] | None:
    """Return the completion in a stream of events, which some servers send unasked, or None."""
    if not body.lstrip().startswith(_EVENT):
        return None
    payload: dict[str, object] = {}
    pieces: list[str] = []
    reason: object = None
    for line in body.splitlines():
        event = decode(line[len(_EVENT) :]) if line.startswith(_EVENT) else None
        if event is None:
            continue
        payload |= {name: value for name, value in event.items() if value is not None}
        choice = _first_choice(event)
        delta = choice.get("delta") or choice.get("message")
        pieces.append(
            _read_message_text(delta.get("content")) if isinstance(delta, Mapping) else ""
        )
        reason = choice.get("finish_reason") or reason
    message = {"content": "".join(pieces)}
    # A stream that was read to its end has ended by itself, unless it says otherwise.
    return payload | {"choices": [{"message": message, "finish_reason": reason or "stop"}]}


def decode(body: bytes) -> dict[str, object] | None:
    """Return the JSON object in `body`, or None."""
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None


def error_in_payload(payload: Mapping[str, object]) -> tuple[int, str] | None:
    """Find an error inside a payload and return (status, text), or None.

    Servers put it at the top, inside the choice, as an object or as a bare string.
    """
    error = payload.get("error") or _first_choice(payload).get("error")
    if not error:
        return None
    if not isinstance(error, Mapping):
        return FAILED_AFTER_START, str(error)
    code = str(error.get("code"))
    status = int(code) if code.isascii() and code.isdigit() and len(code) == 3 else 0
    return status if status >= 400 else FAILED_AFTER_START, _text_of(error)


def said_by(body: bytes) -> str:
    """Return the text of an error response, whatever its shape."""
    payload = decode(body)
    if payload is None:
        return body.decode("utf-8", "replace")
    error = error_in_payload(payload)
    return error[1] if error else _text_of(payload)


def _text_of(error: Mapping[str, object]) -> str:
    for name in ("message", "detail", "msg"):
        if error.get(name):
            return str(error[name])
    return json.dumps(error, ensure_ascii=False)


def read_usage(payload: Mapping[str, object]) -> Usage | None:
    """Return tokens and cost, or None if the payload has neither; null means unknown, not 0."""
    usage = payload.get("usage")
    if not isinstance(usage, Mapping):
        return None
    read = Usage(
        prompt_tokens=_read_count(_first_known(usage, _PROMPT_NAMES)),
        completion_tokens=_read_count(_first_known(usage, _COMPLETION_NAMES)),
        cost_usd=_read_amount(usage.get("cost")),
    )
    return read if read != Usage() else None


def _first_known(usage: Mapping[str, object], names: Sequence[str]) -> object:
    return next((usage[name] for name in names if usage.get(name) is not None), None)


def _read_count(value: object) -> int | None:
    amount = _read_amount(value)
    return None if amount is None else int(amount)


def _read_amount(value: object) -> float | None:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return min(float(value), _MOST)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(min(value, _MOST)) if 0 <= value < math.inf else None


def read_choice(
    payload: Mapping[str, object], endpoint: Endpoint, max_completion_tokens: int
) -> ChatAnswer:
    """Read the first choice.

    Where its content is empty, the answer is the arguments of a tool call or the reasoning, as some
    servers sort it. Raises Fault if there is none, if it was cut off while empty, or declined.
    """
    choice = _first_choice(payload)
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise Fault(unreadable_answer(Message("has no message"), endpoint))
    reason = choice.get("finish_reason") or choice.get("stop_reason")
    texts = _list_texts(message)
    content = next((text for text in texts if text.strip()), "")
    if not content:
        _require_answer(message, reason, endpoint, max_completion_tokens)
    return ChatAnswer(
        content=content,
        finish_reason=reason if isinstance(reason, str) else None,
        model=str(payload.get("model") or endpoint.model),
        usage=read_usage(payload) or Usage(),
    )


def _list_texts(message: Mapping[str, object]) -> Iterator[str]:
    yield _read_message_text(message.get("content"))
    calls = message.get("tool_calls")
    first = calls[0] if isinstance(calls, list) and calls else message
    function = first.get("function", first.get("function_call")) if _is_object(first) else None
    arguments = function.get("arguments") if _is_object(function) else None
    yield json.dumps(arguments) if _is_object(arguments) else _read_message_text(arguments)
    for name in ("reasoning_content", "reasoning"):
        yield _read_message_text(message.get(name))


def _is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)


def _require_answer(
    message: Mapping[str, object], reason: object, endpoint: Endpoint, tokens: int
) -> None:
    """Raise Fault if an empty message tells why it is. One that ended normally does not."""
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        said = quote_answer(refusal, endpoint.api_key)
        raise Fault(ModelDeclined(Message("The model refuses to answer: {said}", said=said)))
    if reason in ("content_filter", "refusal"):
        raise Fault(
            ModelDeclined(
                Message("A content filter of {host} took the answer.", host=endpoint.host)
            )
        )
    if reason == "length":
        cut = Message(
            "The model used all of its {number} tokens before it answered.", number=tokens
        )
        raise Fault(ModelAnswerCut(cut, fix=Message("Raise llm.max_completion_tokens.")))


def _first_choice(payload: Mapping[str, object]) -> Mapping[str, object]:
    choices = payload.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, Mapping) else {}


def _read_message_text(content: object) -> str:
    """Return the text of a message, given as a string, a list of parts, or null."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part.get("text") for part in content if isinstance(part, Mapping)]
    return "".join(part for part in parts if isinstance(part, str))
