"""What can be set about fetching pages and feeds."""

from ipaddress import ip_network
from typing import Annotated

from pydantic import AfterValidator, Field

from engine.settings.section import Section


def _network(text: str) -> str:
    try:
        ip_network(text)
    except ValueError as exc:
        raise ValueError('must be a network like "10.1.0.0/16"') from exc
    return text


def _header_text(text: str) -> str:
    if not text.isascii() or not text.isprintable():
        raise ValueError("must be printable ASCII")
    return text


Network = Annotated[str, AfterValidator(_network)]
HeaderText = Annotated[str, AfterValidator(_header_text)]


class FetchSettings(Section):
    """How pages and feeds are fetched. Only the public web can be reached."""

    allow_networks: tuple[Network, ...] = Field(
        (),
        description='Other networks that may be fetched from, such as "10.1.0.0/16". Everybody'
        " who may paste a link can then read what is there.",
    )
    user_agent_contact: HeaderText = Field(
        "",
        description="Address of a page or mailbox that servers are told, for questions about"
        " this bot.",
    )
