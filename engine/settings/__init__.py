"""The engine's settings: typed sections of config.toml, and the types of their values.

Each key is declared once, in the modules here, with its default, limits and description.
`bot/settings` reads files and environment into these sections; the engine receives them ready-made.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

UNLIMITED = -1


def _http_url(url: str) -> str:
    if not re.fullmatch(r"https?://\S+", url):
        raise ValueError('must begin with "http://" or "https://"')
    return url


def _rate(amount: int) -> int:
    if amount < 1 and amount != UNLIMITED:
        raise ValueError("must be 1 or more, or -1 for no limit")
    return amount


Rate = Annotated[int, AfterValidator(_rate)]
HttpUrl = Annotated[str, AfterValidator(_http_url)]


class Section(BaseModel):
    """A table of config.toml."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True
    )
