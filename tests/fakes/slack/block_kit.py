"""Whether Slack would take some blocks.

The models of slack_sdk are the first judge; rules that they leave out are added here. Limits:
docs.slack.dev/reference/block-kit, checked as characters of the JSON text.
"""

import copy
import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block

from tests.fakes.slack.wire import Json, Refusal

MESSAGE_BLOCKS = 50
TEXT_OBJECT = 3000
FIELD = 2000
# Undocumented. Reported for chat.postMessage: 9,597 characters in all were taken, 11,341 were
# refused with msg_blocks_too_long. Between them, so that nobody leans on the unknown part.
ALL_TEXTS = 10_000

Pointed = tuple[str, dict[str, Any]]


def check_blocks(blocks: object) -> None:
    """Raise the Refusal that Slack would answer with."""
    if not isinstance(blocks, list):
        raise Refusal("invalid_blocks_format")
    if faults := list(_faults(blocks)):
        messages = [f"[ERROR] {fault}" for fault in faults]
        raise Refusal("invalid_blocks", errors=faults, response_metadata={"messages": messages})
    if sum(len(text) for text in _texts(blocks)) > ALL_TEXTS:
        raise Refusal("msg_blocks_too_long")


def with_ids(blocks: list[Json], fresh: Iterator[str]) -> list[Json]:
    """The same blocks with the block_id and action_id that Slack gives where the app gave none."""
    named = [{"block_id": next(fresh), **copy.deepcopy(block)} for block in blocks]
    for _, element in itertools.chain.from_iterable(_walk(block, "") for block in named):
        if element.get("type") == "button":
            element.setdefault("action_id", next(fresh))
    return named


def interactive_elements(blocks: list[Json]) -> list[tuple[str, Json]]:
    """(block_id, element) for everything that can be clicked or chosen."""
    return [
        (block["block_id"], element)
        for block in blocks
        for _, element in _walk(block, "")
        if "action_id" in element
    ]


def _faults(blocks: list[Any]) -> Iterator[str]:
    if len(blocks) > MESSAGE_BLOCKS:
        yield f"no more than {MESSAGE_BLOCKS} items allowed [json-pointer:/blocks]"
    for number, block in enumerate(blocks):
        here = f"/blocks/{number}"
        if model_fault := _model_fault(block):
            yield f"{model_fault} [json-pointer:{here}]"
        elif own_faults := list(_own_faults(block, here)):
            yield from own_faults
    yield from _repeated(blocks)


def _model_fault(block: Any) -> str:
    """What the models of slack_sdk say. They drop what they do not know, Slack refuses it."""
    try:
        parsed = Block.parse(block)
        read_back = parsed.to_dict() if parsed is not None else None
    except (SlackObjectFormationError, TypeError, AttributeError, KeyError) as exc:
        return str(exc) or "malformed block"
    if read_back is None:
        return f"unsupported type: {block.get('type') if isinstance(block, dict) else block}"
    return _lost(block, read_back)


def _lost(sent: Any, read_back: Any) -> str:
    """Name the first thing that was sent and that the model did not understand."""
    if isinstance(sent, dict) and isinstance(read_back, dict):
        for key, value in sent.items():
            if value is None:
                continue
            if key not in read_back:
                return f"invalid additional property or empty value: {key}"
            if fault := _lost(value, read_back[key]):
                return fault
        return ""
    if isinstance(sent, list) and isinstance(read_back, list) and len(sent) == len(read_back):
        pairs = zip(sent, read_back, strict=True)
        return next(filter(None, (_lost(one, other) for one, other in pairs)), "")
    return "" if sent == read_back else f"invalid value: {str(sent)[:50]}"


def _own_faults(block: Json, here: str) -> Iterator[str]:
    for pointer, part in _walk(block, here):
        kind = part.get("type")
        if kind in ("mrkdwn", "plain_text"):
            maximum = FIELD if "/fields/" in pointer else TEXT_OBJECT
            yield from _text_faults(part["text"], maximum, f"{pointer}/text")
        if kind in ("header", "button") and part["text"]["type"] != "plain_text":
            yield f"must be plain_text [json-pointer:{pointer}/text/type]"
        if kind in ("actions", "context") and not part["elements"]:
            yield f"no fewer than 1 item allowed [json-pointer:{pointer}/elements]"


def _text_faults(text: str, maximum: int, pointer: str) -> Iterator[str]:
    if not text:
        yield f"must be more than 0 characters [json-pointer:{pointer}]"
    if len(text) > maximum:
        yield f"must be less than {maximum + 1} characters [json-pointer:{pointer}]"


def _repeated(blocks: list[Any]) -> Iterator[str]:
    named = [block for block in blocks if isinstance(block, dict)]
    counts = Counter(block["block_id"] for block in named if "block_id" in block)
    yield from (f"`block_id` {name} already exists" for name, n in counts.items() if n > 1)
    for block in named:
        names = Counter(part["action_id"] for _, part in _walk(block, "") if "action_id" in part)
        yield from (f"`action_id` {name} already exists" for name, n in names.items() if n > 1)


def _walk(part: Any, pointer: str) -> Iterator[Pointed]:
    """Every object inside, the outermost first, each with its JSON pointer."""
    if isinstance(part, dict):
        yield pointer, part
        for key, value in part.items():
            yield from _walk(value, f"{pointer}/{key}")
    elif isinstance(part, list):
        for number, value in enumerate(part):
            yield from _walk(value, f"{pointer}/{number}")


def _texts(blocks: list[Json]) -> Iterator[str]:
    for _, part in itertools.chain.from_iterable(_walk(block, "") for block in blocks):
        if isinstance(part.get("text"), str):
            yield part["text"]
