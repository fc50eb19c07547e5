"""The one place that decides whether private texts may leave this machine.

The texts of a personal corpus, and questions about it, stay on this machine. An endpoint on this
machine may read them; any other one only those of corpora that its settings name.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from engine.errors import CorpusWithheld
from engine.messages import Message
from engine.types import Corpus


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """The private corpora that one endpoint may read."""

    base_url: str
    setting: str  # that lists the corpora: "[llm] private_corpora"
    private_corpora: Collection[str] = ()  # names in that setting

    def require(self, corpora: Iterable[Corpus]) -> None:
        """Raise CorpusWithheld if one of `corpora` may not be sent to the endpoint."""
        if stays_here(self.base_url):
            return
        withheld = [
            one.name for one in corpora if one.private and one.name not in self.private_corpora
        ]
        if withheld:
            names, host = " and ".join(withheld), urlsplit(self.base_url).hostname or ""
            raise CorpusWithheld(
                Message("Private text is not sent to {host}: {names}.", host=host, names=names),
                fix=Message("To allow it, add the corpus to {setting}.", setting=self.setting),
            )


def stays_here(url: str) -> bool:
    """Return whether a server at `url` runs on this machine: localhost, 127.0.0.0/8 or ::1.

    Other names are not resolved, because their address may change.
    """
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
