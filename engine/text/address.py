"""URLs of documents, URLs without secrets, and canonical URLs of pages."""

import re
from dataclasses import replace
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from engine.search import Candidate
from engine.values import Corpus

_ON_X = "https://x.com/{author}/status/{id}"
_TEMPLATES = {"x": _ON_X, "twitter": _ON_X}  # by platform, for posts whose source has no address
_VALUE = re.compile(r"(?<==)[^&]+|(?<![^&])[^=&]+(?![^&])")
_HIDDEN = "…"
_LONGEST_ADDRESS = 2000  # characters, as ASCII
_DEFAULT_PORTS = {"http": 80, "https": 443}
# Parameters that surely tell a site where a visitor comes from, and change nothing on the page.
_TRACKING = re.compile(
    r"(?:utm_\w+|[gdy]clid|g[ab]raid|wbraid|fbclid|msclkid|twclid|ttclid|igshid|mc_[ce]id|_hs\w+"
    r"|ref_(?:src|url)|cmpid|ns_\w+|at_(?:medium|campaign)\w*)(?:=.*)?",
    re.IGNORECASE | re.DOTALL,
)
_SESSION = re.compile(r";jsessionid=[^/?]*", re.IGNORECASE)
_MAX_PARAMETERS = 50
_HOST_NAME = re.compile(r"[\w.-]+|\[[\da-f:.]+\]", re.ASCII)
_KEPT = "%/:@!$&'()*+,;=~"
# Those that do on most sites. They distinguish readers but may matter to a server.
_OF_READERS = re.compile(
    r"utm_\w+|mtm_\w+|pk_\w+|at_(?:medium|campaign|custom\d|link\w*|ptr_name|bbc_team)|"
    r"(?:fb|g|y|ms|dc|tw)clid|gclsrc|igshid|mc_[ce]id|mkt_tok|ref|ref_?src|ref_?url|referrer|"
    r"cmp|cmpid|cid|ito|ncid|ocid|smid|smtyp|src|source|partner|feature|rss|output|spm|si|"
    r"xtor|wt_mc|_hsenc|_hsmi|s?cid|sr_share|guccounter|guce_\w+|partnerid|"
    r"(?:php)?sess(?:ion)?_?id|jsessionid|sid|traffic_source|taid|__twitter_impression|amp",
    re.IGNORECASE,
)


def address_candidate(candidate: Candidate, corpus: Corpus) -> Candidate:
    """Return the document with the author, the voice and the address that its corpus knows.

    It keeps an author and an address of its own. Without a template of the corpus, only a post on
    a platform whose addresses are known gets one. The voice is that of the corpus's author alone,
    and of documents without one: an archive of several people has a name of its own.
    """
    author = candidate.author or corpus.author
    own = _fold_account(author) == _fold_account(corpus.author)  # "" if neither is known
    voice = corpus.display_name if own else None
    if (author, voice) != (candidate.author, candidate.voice):
        candidate = replace(candidate, author=author, voice=voice)
    template = corpus.url_template or _TEMPLATES.get((candidate.platform or "").casefold())
    if candidate.url or not template:
        return candidate
    # "i" stands for an unknown account; X redirects it.
    url = template.replace("{author}", quote(author or "i", safe="")).replace(
        "{id}", quote(candidate.external_id, safe="")
    )
    return replace(candidate, url=url)


def name_voice(candidate: Candidate, corpus: Corpus) -> Candidate:
    """Return a document of an answer from several corpora: with the name of its corpus, and with
    the voice of that if it has neither voice nor author."""
    voice = candidate.voice if candidate.voice or candidate.author else corpus.voice
    return replace(candidate, corpus=corpus.name, voice=voice)


def _fold_account(name: str | None) -> str:
    return (name or "").removeprefix("@").casefold()


def public_address(url: str) -> str:
    """Return an address without possible secrets: user names, passwords, query values.

    "https://me:pw@example.org/feed?token=s3cret" becomes "https://example.org/feed?token=…". An
    address without any of these is returned unchanged.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return _HIDDEN
    query = _VALUE.sub(_HIDDEN, parts.query)
    host = parts.netloc.rpartition("@")[2]
    if host == parts.netloc and not parts.query and not parts.fragment:
        return url
    return urlunsplit((parts.scheme, host, parts.path, query, ""))


def canonical_address(url: str) -> str | None:
    """Return the address that stands for all spellings of a page's address, and leads there too.

    Without fragment, default port and parameters for tracking; the host in ASCII and lower case.
    Returns None if it is not a web address, holds a user name, or is longer than 2,000 characters.
    """
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port
        if ":" in host:
            host = f"[{host}]"
        elif not host.isascii():
            host = host.encode("idna").decode()
    except ValueError:  # includes UnicodeError
        return None
    scheme = parts.scheme.lower()
    if scheme not in _DEFAULT_PORTS or "@" in parts.netloc or not url.isprintable():
        return None
    if not _HOST_NAME.fullmatch(host):
        return None
    place = host if port in (None, _DEFAULT_PORTS[scheme]) else f"{host}:{port}"
    query = "&".join(
        part for part in parts.query.split("&") if part and not _TRACKING.fullmatch(part)
    )
    path = quote(parts.path or "/", safe=_KEPT)
    address = urlunsplit((scheme, place, path, quote(query, safe=_KEPT + "?"), ""))
    return address if len(address) <= _LONGEST_ADDRESS else None


def read_host(url: str | None) -> str:
    """Return the host of an address in lower case, or "" if it has none or is no address."""
    try:
        return urlsplit(url or "").hostname or ""
    except ValueError:  # "http://[", or a host with a sign such as ℀
        return ""


def link_key(url: str) -> str | None:
    """Return the address without what only distinguishes readers; None for a bare home page.

    Removes the scheme, "www.", parameters of trackers and sessions, the fragment and a trailing
    slash. Also returns None for a link with more parameters than real pages have, because sorting
    them would take long.
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").removeprefix("www.")
        port = f":{parts.port}" if parts.port not in (None, 80, 443) else ""
        parameters = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS)
    except ValueError:
        return None
    query = urlencode(
        sorted(parameter for parameter in parameters if not _OF_READERS.fullmatch(parameter[0]))
    )
    path = _SESSION.sub("", parts.path).rstrip("/")
    if not host or not (path or query):
        return None
    return f"{host}{port}{path}{'?' if query else ''}{query}"
