"""Answers to pressed buttons and to inline queries."""

from collections.abc import Mapping
from typing import Any

from tests.fakes.telegram.errors import Refusal, bad_request
from tests.fakes.telegram.keyboards import inline_keyboard
from tests.fakes.telegram.methods.handler import Handler, Parameters, caption_of, text_of
from tests.fakes.telegram.queries import InlineAnswer, InlineQuery, InlineResult, PressAnswer
from tests.fakes.telegram.text import Formatted
from tests.fakes.telegram.world import World

MAX_RESULTS = 50
ANSWER_CHARACTERS = 200


def _too_late() -> Refusal:
    return bad_request("query is too old and response timeout expired or query ID is invalid")


def answer_callback_query(world: World, p: Parameters) -> object:
    press = world.presses.get(p["callback_query_id"])
    if press is None or press.answers:
        raise _too_late()
    text = p.get("text", "")
    if len(text) > ANSWER_CHARACTERS:
        raise bad_request("MESSAGE_TOO_LONG")
    press.answers.append(PressAnswer(text, p.get("show_alert", False)))
    world.signal.notify()
    return True


def answer_inline_query(world: World, p: Parameters) -> object:
    query = world.inline.get(p["inline_query_id"])
    if query is None or query.answers or query.asked_at + world.inline_seconds < world.clock():
        raise _too_late()
    results = [_result(one) for one in p["results"]]
    if len(results) > MAX_RESULTS:
        raise bad_request("RESULTS_TOO_MUCH")
    if len({result.id for result in results}) < len(results):
        raise bad_request("RESULT_ID_DUPLICATE")
    answer = InlineAnswer(
        results,
        p.get("cache_time", 300),
        p.get("is_personal", False),
        p.get("button"),
    )
    query.answers.append(answer)
    _remember(world, query, answer)
    world.signal.notify()
    return True


def _remember(world: World, query: InlineQuery, answer: InlineAnswer) -> None:
    """Telegram repeats an answer by itself while it is fresh: to that user, or to everybody."""
    owner = query.user.id if answer.is_personal else 0
    until = world.clock() + answer.cache_time
    world.inline_cache[query.query, query.offset, owner] = (until, answer)


def _result(raw: Mapping[str, Any]) -> InlineResult:
    if not 1 <= len(raw["id"].encode()) <= 64:
        raise bad_request("RESULT_ID_INVALID")
    keyboard = inline_keyboard(raw.get("reply_markup"))
    return InlineResult(raw["id"], raw.get("title", ""), _body(raw), keyboard, raw)


def _body(raw: Mapping[str, Any]) -> Formatted:
    content = raw.get("input_message_content")
    if content is None:
        return caption_of(raw)
    if "message_text" not in content:
        raise bad_request("the stand-in reads only text as the content of an inline result")
    return text_of({**content, "text": content["message_text"]})


HANDLERS: dict[str, Handler] = {
    "answerCallbackQuery": answer_callback_query,
    "answerInlineQuery": answer_inline_query,
}
