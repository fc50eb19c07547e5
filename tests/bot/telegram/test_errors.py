"""Errors of Telegram as the project's own, without what people wrote."""

import httpx
import pytest
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Forbidden,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)

from bot.face import ChatGone, DeliveryError
from bot.telegram.errors import Moved, Unchanged, mapped, said

SECRET = "what-somebody-wrote"


async def raised(error: TelegramError) -> DeliveryError:
    async def fails() -> None:
        raise error

    with pytest.raises(DeliveryError) as failed:
        await mapped(fails())
    return failed.value


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Forbidden("Forbidden: bot was blocked by the user"), ChatGone),
        (BadRequest("Bad Request: chat not found"), ChatGone),
        (BadRequest("Bad Request: message is not modified: same"), Unchanged),
        (BadRequest("Bad Request: message is too long"), DeliveryError),
        (ChatMigrated(-100), Moved),
        (RetryAfter(7), DeliveryError),
        (TimedOut(), DeliveryError),
        (NetworkError("Bad Gateway"), DeliveryError),
    ],
)
async def test_each_error_has_its_kind(error: TelegramError, kind: type) -> None:
    assert type(await raised(error)) is kind


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
async def test_what_a_description_quotes_is_not_told(error: TelegramError, expected: str) -> None:
    assert said(error) == expected
    told = str(await raised(error))
    assert expected in told
    assert SECRET not in told


def test_a_broken_connection_is_told_by_its_type() -> None:
    error = NetworkError(f"httpx.ReadError: {SECRET}")
    error.__cause__ = httpx.ReadError(SECRET)
    assert said(error) == "NetworkError from ReadError"
