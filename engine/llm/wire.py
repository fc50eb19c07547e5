"""The OpenAI-compatible chat format: building requests and reading answers. No I/O.

Source of the OpenRouter fields: its guides on model fallbacks, provider routing and reasoning.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from engine.errors import ModelAnswerCut
from engine.llm.endpoint import Endpoint, Fault, unreadable_answer
from engine.messages import Message
from engine.settings.models import LlmSettings
from engine.values import Usage

# Status for an error inside a 200 that has none: the upstream model failed after it had started.
FAILED_AFTER_START = 502


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
        return self.finish_reason == "stop"


def request_body(
    settings: LlmSettings,
    messages: Sequence[PromptMessage],
    schema: Mapping[str, object] | None,
    *,
    openrouter: bool,
) -> dict[str, object]:
    """Return the JSON body. `schema` is the value of response_format.json_schema, or None.

    Fallback models, reasoning effort and strict parameter routing are `openrouter`'s own fields.

    No temperature is sent, because reasoning models refuse it.
    """
    body: dict[str, object] = {
        "model": settings.model,
        "messages": [asdict(message) for message in messages],
        "max_completion_tokens": settings.max_completion_tokens,
    }
    if schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": dict(schema)}
    if openrouter:
        body |= _openrouter_fields(settings, strict=schema is not None)
    return body


def _openrouter_fields(settings: LlmSettings, *, strict: bool) -> dict[str, object]:
    fields: dict[str, object] = {}
    if settings.fallback_models:
        fields["models"] = list(settings.fallback_models)
    if settings.reasoning_effort:
        fields["reasoning"] = {"effort": settings.reasoning_effort, "exclude": True}
    if strict:
        fields["provider"] = {"require_parameters": True}
    return fields


def read_completion(body: bytes, endpoint: Endpoint) -> dict[str, object]:
    """Decode the body of a successful response. Raises Fault if it is not a JSON object."""
    payload = decode(body)
    if payload is None:
        raise Fault(unreadable_answer(Message("is not a JSON object"), endpoint))
    return payload


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
    return _status_of(error.get("code")), _text_of(error)


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


def _status_of(code: object) -> int:
    text = str(code)
    status = int(text) if text.isascii() and text.isdigit() and len(text) == 3 else 0
    return status if status >= 400 else FAILED_AFTER_START


def read_usage(payload: Mapping[str, object]) -> Usage | None:
    """Return tokens and cost, or None if the payload has neither; null means unknown, not 0."""
    usage = payload.get("usage")
    if not isinstance(usage, Mapping):
        return None
    read = Usage(
        prompt_tokens=_read_count(usage.get("prompt_tokens")),
        completion_tokens=_read_count(usage.get("completion_tokens")),
        cost_usd=_read_amount(usage.get("cost")),
    )
    return read if read != Usage() else None


def _read_count(value: object) -> int | None:
    amount = _read_amount(value)
    return None if amount is None else int(amount)


def _read_amount(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def read_choice(
    payload: Mapping[str, object], endpoint: Endpoint, max_completion_tokens: int
) -> ChatAnswer:
    """Read the first choice. Raises Fault if there is none, or if it was cut off while empty."""
    choice = _first_choice(payload)
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise Fault(unreadable_answer(Message("has no message"), endpoint))
    content = _read_message_text(message.get("content"))
    reason = choice.get("finish_reason")
    if reason == "length" and not content.strip():
        raise Fault(_cut_error(max_completion_tokens))
    return ChatAnswer(
        content=content,
        finish_reason=reason if isinstance(reason, str) else None,
        model=str(payload.get("model") or endpoint.model),
        usage=read_usage(payload) or Usage(),
    )


def _cut_error(tokens: int) -> ModelAnswerCut:
    return ModelAnswerCut(
        Message("The model used all of its {number} tokens before it answered.", number=tokens),
        fix=Message("Raise llm.max_completion_tokens."),
    )


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
