"""An operator is told what stands open, and how to close it."""

import pytest

from bot.settings import load_settings
from bot.web.operating import open_doors

MODEL = {"PRESAGIO_LLM__BASE_URL": "http://127.0.0.1:1/v1"}
KEYS = {"WEB_API_KEYS": "sesame"}
NO_PAGE = {"PRESAGIO_WEB__PAGE": "false"}
JUDGE = {"PRESAGIO_WEB__JUDGE": "true"}
FREE = {"PRESAGIO_LLM__DAILY_TOKENS": "-1", "PRESAGIO_LLM__DAILY_USD": "-1"}

PAGE_OPEN = (
    "The API asks for a key of WEB_API_KEYS; the page asks for none, so whoever reaches it can read"
    " the corpora. Set web.page = false to close it, or put it behind a proxy that asks."
)


def unjudged(doors: str) -> str:
    return (
        f"Without a key {doors} unjudged, to spare the model. Set web.judge = true to have it"
        " asked, for up to 20% of the daily budget (llm.web_share)."
    )


def judged(doors: str, bound: str = "for up to 20% of the daily budget (llm.web_share)") -> str:
    return (
        f"Whoever reaches {doors} has the model asked without a key, {bound}. Set web.judge ="
        " false to stop that."
    )


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, []),
        (JUDGE, []),
        ({"WEB_ADMIN_KEYS": "boss"}, []),
        (KEYS, [PAGE_OPEN]),
        (KEYS | NO_PAGE, []),
        (MODEL, [unjudged("the page and the API answer")]),
        (MODEL | NO_PAGE, [unjudged("the API answers")]),
        (MODEL | KEYS, [PAGE_OPEN, unjudged("the page answers")]),
        (MODEL | KEYS | NO_PAGE, []),
        (MODEL | KEYS | NO_PAGE | JUDGE, []),
        (MODEL | JUDGE, [judged("the page and the API")]),
        (MODEL | JUDGE | {"PRESAGIO_LLM__WEB_SHARE": "0.2"}, [judged("the page and the API")]),
        (
            MODEL | JUDGE | FREE,
            [
                judged(
                    "the page and the API",
                    "without limit, for llm.daily_tokens and llm.daily_usd have none",
                )
            ],
        ),
    ],
)
def test_what_asks_for_no_key_is_said(environ: dict[str, str], said: list[str]) -> None:
    assert list(open_doors(load_settings(environ=environ))) == said
