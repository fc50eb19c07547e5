"""How chat platforms differ for the commands and replies that all of them share."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What is usual; a platform that differs has a row of its own in _TRAITS."""

    only_command: str = ""  # is written before each command whose name is not `distinctive`
    shows_privately: bool = False  # a message to one person alone, in a group
    has_chat_admins: bool = True  # rather than those of the whole workspace
    example_id: str = "42"  # of a person


_TRAITS: Mapping[str, Traits] = {
    "slack": Traits(
        only_command="/presagio",
        shows_privately=True,
        has_chat_admins=False,
        example_id="U024BE7LH",
    ),
}


def traits_of(platform: str) -> Traits:
    """Return how a platform differs."""
    return _TRAITS.get(platform, Traits())
