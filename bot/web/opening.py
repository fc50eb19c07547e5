"""What an operator has to know when the web face opens: what stands open, and how to close it."""

from collections.abc import Iterator

from bot.settings import Settings
from engine.settings.section import UNLIMITED


def open_doors(settings: Settings) -> Iterator[str]:
    """Yield sentences about what asks for no key, where that may surprise somebody."""
    web, secrets = settings.web, settings.secrets
    if web.page and secrets.web_api_keys:
        yield (
            "The API asks for a key of WEB_API_KEYS; the page asks for none, so whoever reaches it"
            " can read the corpora. Set web.page = false to close it, or put it behind a proxy that"
            " asks."
        )
    doors = [
        *(["the page"] if web.page else []),
        *([] if secrets.web_api_keys else ["the API"]),
    ]
    if doors and settings.has_model():
        yield _model(settings, " and ".join(doors), "answer" if len(doors) > 1 else "answers")


def _model(settings: Settings, doors: str, answers: str) -> str:
    llm = settings.llm
    if not settings.web.judge:
        return (
            f"Without a key {doors} {answers} unjudged, to spare the model. Set web.judge = true to"
            f" have it asked, for up to {llm.web_share:.0%} of the daily budget (llm.web_share)."
        )
    free = llm.daily_tokens == llm.daily_usd == UNLIMITED
    bound = (
        "without limit, for llm.daily_tokens and llm.daily_usd have none"
        if free
        else f"for up to {llm.web_share:.0%} of the daily budget (llm.web_share)"
    )
    return (
        f"Whoever reaches {doors} has the model asked without a key, {bound}. Set web.judge ="
        " false to stop that."
    )
