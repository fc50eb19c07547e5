"""`presagio site`: archives and approved prophecies as pages that need no server but one of files.

The pages are those that `presagio serve` shows, asked in this process and saved, with their links
made relative. What only a server can do, such as asking, is left out.
"""

import re
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated
from urllib.parse import parse_qs, unquote, urljoin, urlsplit

import typer

from bot.cli.shared import command_of, parse_string
from bot.console.screen import Output, progress_bar
from engine.errors import InputError

if TYPE_CHECKING:
    import httpx
    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from bot.app import App
    from bot.settings import Settings
    from engine.search import Headline

_HERE = "http://localhost"
_HOME, _WALL = "/corpora", "/wall"
_PAGES = re.compile(r"/corpora/[^/]+(?:/most-liked|/\d{4}(?:/\d{1,2})?)?")
_TEXTS = re.compile(r"/(?:documents)/.+")
_ASSETS = re.compile(r"/(?:static|media)/.+|/picture\.png")
_MARK = ".presagio-site"  # in a folder that may be written again
_LONGEST_INDEXING = 3_600  # seconds
_UNSAFE = re.compile(r"[^\w@=+-]")
# What needs a server: forms, scripts, feeds, pictures that are drawn, and the choice of a language.
_DROPPED = (
    'meta[property^="og:image"], meta[property="og:url"], meta[name="twitter:card"],'
    ' figure.picture, a[href="#picture"],'
    " form, script, link[rel=alternate], link[rel=search], link[rel=manifest], footer p + p,"
    ' header nav a[href="/"], header nav a[href^="/?"]'
)
_FOUND = """<link rel="stylesheet" href="{root}pagefind/pagefind-ui.css">
<div id="search" style="--pagefind-ui-text: var(--ink); --pagefind-ui-primary: var(--accent);
 --pagefind-ui-background: var(--card); --pagefind-ui-border: var(--rule); margin: 1rem 0"></div>"""
_SEARCH = """<script src="{root}pagefind/pagefind-ui.js"></script>
<script>new PagefindUI({{element: "#search", showImages: false}});</script>"""


async def write_site(
    app: "App",
    folder: Annotated[str, typer.Argument(help="Folder for the pages.", callback=parse_string)],
    *,
    texts: Annotated[
        bool, typer.Option("--texts", help="A page for each text too; they are many.")
    ] = False,
    output: Output,
) -> None:
    """Write the archives and the approved prophecies as static pages.

    They are those that the page may show. Search is built in where pagefind is installed.

    Example: presagio site public
    """
    target = _prepare_folder(folder)
    found = find_spec("pagefind") is not None
    async with _open_pages(app) as client:
        site = _Site(client, target, has_texts=texts, has_search=found)
        with progress_bar(output.remarks, "site", None) as tell:
            async for number in site.write():
                tell(number, f"{number:,} pages")
    output.line(f"{folder}: {site.written:,} pages.")
    if not found:
        output.remark("Without a search. For one: pip install 'pagefind[bin]', then again.")
    elif await _build_search(target):
        output.remark("The search works from any server of files.")
    else:
        output.remark("Without a search: pagefind failed. Try: python -m pagefind --site FOLDER")


def _prepare_folder(folder: str) -> Path:
    """Return the folder, which is new, empty, or was written by this command. Raises InputError."""
    target = Path(folder).expanduser()
    try:
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()) and not (target / _MARK).exists():
            raise InputError(
                f"{folder} holds other files.", fix="Name a folder that is new or empty."
            )
        (target / _MARK).touch()
    except OSError as exc:
        reason = (exc.strerror or str(exc)).lower()
        raise InputError(f"{folder} cannot be written: {reason}.") from exc
    return target


def _lift_limit(settings: "Settings") -> "Settings":
    """Return the settings with no limit on how often the page may be asked."""
    web = settings.web.model_copy(update={"requests_per_minute": -1, "page": True})
    return settings.model_copy(update={"web": web})


def _open_pages(app: "App") -> "httpx.AsyncClient":
    """Return a client of the page, which runs in this process."""
    import httpx

    from bot.cli.shared import read_clock
    from bot.web.application import create_application
    from bot.web.service import WebAdapter

    shared = WebAdapter.of(app).share_state(now=read_clock, read_headline=_read_words)
    shared.use(_lift_limit(app.settings))
    transport = httpx.ASGITransport(app=create_application(shared))
    return httpx.AsyncClient(transport=transport, base_url=_HERE)


async def _read_words(text: str, *, now: datetime) -> "Headline":  # noqa: ARG001 - see ReadHeadline
    """Return a headline; no page of the site asks for one."""
    from engine.prophecy.headline import read_headline

    return read_headline(text)


@dataclass
class _Site:
    """Follows the links of pages from the list of archives on, and saves what it finds."""

    client: "httpx.AsyncClient"
    target: Path
    has_texts: bool
    has_search: bool
    written: int = 0
    _known: dict[str, PurePosixPath] = field(default_factory=dict)
    _waiting: deque[str] = field(default_factory=deque)

    async def write(self) -> AsyncIterator[int]:
        """Save all pages; yield how many there are so far."""
        for path in (_HOME, _WALL):
            self._queue_path(path)
        while self._waiting:
            path = self._waiting.popleft()
            answered = await self.client.get(path)
            if answered.status_code != 200:
                continue
            place = self.target / self._known[path]
            place.parent.mkdir(parents=True, exist_ok=True)
            if "html" in answered.headers.get("content-type", ""):
                place.write_text(self._rewrite_page(answered.text, path), encoding="utf-8")
                self.written += 1
                yield self.written
            else:
                place.write_bytes(answered.content)

    def _queue_path(self, path: str) -> PurePosixPath | None:
        """Return where the page or file of a link goes; None if it is not part of the site."""
        if path in self._known:
            return self._known[path]
        place = self._find_place(path)
        if place is not None:
            self._known[path] = place
            self._waiting.append(path)
        return place

    def _find_place(self, path: str) -> PurePosixPath | None:
        parts = urlsplit(path)
        segments = [_safe_name(unquote(part)) for part in parts.path.strip("/").split("/")]
        if _ASSETS.fullmatch(parts.path):
            return PurePosixPath(*segments)
        if path == _HOME:
            return PurePosixPath("index.html")
        is_text = self.has_texts and _TEXTS.fullmatch(parts.path)
        if not (parts.path == _WALL or is_text or _PAGES.fullmatch(parts.path)):
            return None
        asked = parse_qs(parts.query)
        if asked.keys() - {"page"}:
            return None  # another order or language of the same page
        leaf = f"page-{asked['page'][0]}.html" if asked else "index.html"
        return PurePosixPath(*segments, _safe_name(leaf))

    def _rewrite_page(self, page: str, path: str) -> str:
        """Return a page with relative links, without what needs a server."""
        from selectolax.lexbor import LexborHTMLParser

        tree = LexborHTMLParser(page)
        for node in tree.css(_DROPPED):
            node.decompose()
        root = "../" * (len(self._known[path].parts) - 1)
        for node, name in _links_of(tree):
            self._rewrite_link(node, name, path, root)
        if self.has_search and path == _HOME:
            return _with_search(tree.html or "", root)
        return tree.html or ""

    def _rewrite_link(self, node: "LexborNode", name: str, path: str, root: str) -> None:
        link = node.attributes.get(name) or ""
        if link.startswith("#"):
            return
        whole = urlsplit(urljoin(f"{_HERE}{path}", link))
        if f"{whole.scheme}://{whole.netloc}" != _HERE:
            return
        asset = _ASSETS.fullmatch(whole.path)
        query = f"?{whole.query}" if whole.query and not (asset and "static" in whole.path) else ""
        wanted = _HOME if whole.path == "/" else f"{whole.path}{query}"
        place = self._queue_path(wanted)
        if place is not None:
            node.attrs[name] = f"{root}{place}"
        elif node.tag == "a" and node.parent is not None and node.parent.tag != "nav":
            del node.attrs[name]  # its words stay
        else:
            node.decompose()


def _links_of(tree: "LexborHTMLParser") -> "Iterator[tuple[LexborNode, str]]":
    for name in ("href", "src", "poster"):
        for node in tree.css(f"[{name}]"):
            yield node, name


def _safe_name(name: str) -> str:
    """Return a name that every file system takes, another one for each name."""
    stem, dot, ending = name.rpartition(".")
    if dot and stem and ending.isalnum() and len(ending) < 6:
        safe = f"{_UNSAFE.sub('_', stem)}.{ending}"
    else:
        safe = _UNSAFE.sub("_", name)
    if safe == name and len(name) < 100:
        return name
    return f"{blake2b(name.encode(), digest_size=4).hexdigest()}-{safe[-80:]}"


def _with_search(page: str, root: str) -> str:
    search = f"{_FOUND}{_SEARCH}".format(root=root)
    return page.replace("</h1>", f"</h1>{search}", 1)


async def _build_search(target: Path) -> bool:
    """Build the index; tell whether that went well."""
    import asyncio

    command = [sys.executable, "-m", "pagefind", "--site", str(target)]
    try:
        ended = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, check=False, timeout=_LONGEST_INDEXING
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ended.returncode == 0


command = command_of(write_site)
