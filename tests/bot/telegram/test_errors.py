"""Errors of Telegram as the project's own, without what people wrote."""

import httpx
import pytest
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)

from bot.adapter import (
    ChatGone,
    DeliveryError,
    DeliveryRefused,
    PlatformFailed,
    SlowDown,
    Unsure,
    WritingForbidden,
)
from bot.telegram.client import (
    GroupMigrated,
    MessageUnchanged,
    describe_telegram_error,
    map_telegram_errors,
)

SECRET = "what-somebody-wrote"


async def raised(error: TelegramError) -> DeliveryError:
    with pytest.raises(DeliveryError) as failed:
        async with map_telegram_errors():
            raise error
    return failed.value


def never_sent() -> TelegramError:
    error = NetworkError("httpx.ConnectError")
    error.__cause__ = httpx.ConnectError("")
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Forbidden("Forbidden: bot was blocked by the user"), ChatGone),
        (BadRequest("Bad Request: chat not found"), ChatGone),
        (BadRequest("Bad Request: message is not modified: same"), MessageUnchanged),
        (BadRequest("Bad Request: message is too long"), DeliveryRefused),
        (BadRequest("Bad Request: TOPIC_CLOSED"), WritingForbidden),
        (BadRequest("Bad Request: CHAT_WRITE_FORBIDDEN"), WritingForbidden),
        (Forbidden("Forbidden: CHAT_WRITE_FORBIDDEN"), WritingForbidden),
        (BadRequest("Bad Request: CHAT_RESTRICTED"), WritingForbidden),
        (BadRequest("Bad Request: CHAT_SEND_PHOTOS_FORBIDDEN"), WritingForbidden),
        (BadRequest("Bad Request: have no rights to send a message"), WritingForbidden),
        (
            BadRequest("Bad Request: not enough rights to send text messages to the chat"),
            WritingForbidden,
        ),
        (Forbidden("Forbidden: bot was kicked from the supergroup chat"), ChatGone),
        (ChatMigrated(-100), GroupMigrated),
        (RetryAfter(7), SlowDown),
        (TimedOut(), Unsure),
        (NetworkError("Bad Gateway"), PlatformFailed),
        (never_sent(), DeliveryError),
        (InvalidToken(f"The token {SECRET} was rejected"), DeliveryError),
    ],
)
async def test_telegram_errors_map_to_delivery_errors(error: TelegramError, kind: type) -> None:
    failed = await raised(error)
    assert type(failed) is kind
    assert SECRET not in str(failed)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            BadRequest(f"Bad Request: can't parse entities: unsupported start tag {SECRET!r}"),
            "can't parse entities",
        ),
        (BadRequest(f"Bad Request: wrong something: {SECRET}"), "BadRequest"),
        (Forbidden(f"Forbidden: {SECRET}"), "Forbidden"),
        (NetworkError(f"Unknown error in HTTP implementation: {SECRET}"), "NetworkError"),
        (BadRequest("Bad Request: PEER_ID_INVALID"), "PEER_ID_INVALID"),
        (BadRequest(f"Bad Request: PEER_ID_INVALID {SECRET}"), "BadRequest"),
    ],
)
async def test_quoted_text_is_removed_from_error_descriptions(
    error: TelegramError, expected: str
) -> None:
    assert describe_telegram_error(error) == expected
    message = str(await raised(error))
    assert expected in message
    assert SECRET not in message


def test_a_broken_connection_is_told_by_its_type() -> None:
    error = NetworkError(f"httpx.ReadError: {SECRET}")
    error.__cause__ = httpx.ReadError(SECRET)
    assert describe_telegram_error(error) == "NetworkError from ReadError"
