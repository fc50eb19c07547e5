"""Whether Telegram accepts the token, and where it sends updates."""

import asyncio

from telegram.error import InvalidToken, TelegramError

from bot.face import FaceFailed
from bot.telegram.client import Bot

_SECONDS = 10.0


async def check_telegram(token: str, api_base: str, webhook_url: str) -> str:
    """Return a line about the bot. Raises FaceFailed."""
    bot = Bot(token, api_base=api_base, hold=0, seconds=_SECONDS)
    try:
        async with asyncio.timeout(_SECONDS), bot:
            state = await bot.get_webhook_info()
            name = f"@{bot.username}"
    except InvalidToken as error:
        raise FaceFailed(
            "Telegram refuses the token.",
            fix="Set TELEGRAM_BOT_TOKEN to the token that @BotFather gave.",
        ) from error
    except (TelegramError, TimeoutError) as error:
        raise FaceFailed(
            f"Telegram cannot be reached: {str(error) or 'no answer in time'}.",
            fix="Check telegram.api_base and the network.",
        ) from error
    if state.url and state.url != webhook_url:
        # Not shown: an address like this is often a secret.
        return f"{name}, updates go to another webhook until presagio serve takes them over"
    way = "webhook" if webhook_url else "polling"
    trouble = f"; the last delivery failed: {state.last_error_message}"
    waiting = f", {state.pending_update_count} updates wait" if state.pending_update_count else ""
    return f"{name}, {way}{waiting}{trouble if state.last_error_message else ''}"
