"""The optional parts of the program: what they require, and how to install them where it runs.

Commands name the sources that this program was installed from, or the packages that a part
requires. None names the program itself: that name belongs to nobody on the package index.
"""

import re
import shlex
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError
from importlib.util import find_spec
from json import JSONDecodeError, loads
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from engine.messages import Message

_NAME = "presagio"
_EXTRA = re.compile(r"""(?P<requirement>[^;]+);.*\bextra\s*==\s*["'](?P<extra>[\w-]+)["']""")
_OWN = re.compile(rf"{_NAME}\[(?P<extras>[\w,\s-]+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """How the program was installed: by which tool, where, and from which folder of sources."""

    python: str
    tool: str = "pip"  # or "uv pip", where the environment has no pip; "pipx"; "uv tool"
    environment: str = _NAME  # its name, for pipx
    sources: str | None = None  # None: a wheel, or a folder that is gone
    editable: bool = False
    extras: tuple[str, ...] = ()  # what the tool was told to install with it
    beside: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()  # as its metadata say

    def command(self, extras: Sequence[str] = (), packages: Sequence[str] = ()) -> str:
        """Return the command that adds extras, or other packages, to this environment."""
        sources = self.sources if extras else None
        wanted = [*packages, *(package for extra in extras for package in self._packages_of(extra))]
        editable = ["--editable"] if self.editable else []
        if self.tool == "pipx":
            return shlex.join(["pipx", "inject", self.environment, *wanted])
        if self.tool == "uv tool" and self.sources:
            # Everything again: uv keeps nothing of before.
            options = [part for beside in (*self.beside, *packages) for part in ("--with", beside)]
            named = ",".join(sorted({*self.extras, *extras}))
            source = f"{self.sources}[{named}]" if named else self.sources
            return shlex.join(["uv", "tool", "install", *options, *editable, source])
        pip = [self.python, "-m", "pip", "install"]
        if self.tool != "pip":
            pip = ["uv", "pip", "install", "--python", self.python]
        if not sources:
            return shlex.join([*pip, *wanted])
        return shlex.join([*pip, *editable, f"{sources}[{','.join(extras)}]"])

    def _packages_of(self, extra: str) -> Iterator[str]:
        for line in self.requires:
            match = _EXTRA.fullmatch(line)
            if not match or match["extra"] != extra:
                continue
            if own := _OWN.fullmatch(match["requirement"].strip()):
                for name in own["extras"].split(","):
                    yield from self._packages_of(name.strip())
            else:
                yield match["requirement"].strip()


def how_to_install(extra: str) -> Message:
    """Return what to run to add an extra of the program, such as "documents"."""
    return Message("Run: {command}", command=read_installation().command(extras=[extra]))


def how_to_add(package: str) -> Message:
    """Return what to run to add a package that no extra holds."""
    return Message("Run: {command}", command=read_installation().command(packages=[package]))


def read_installation(prefix: Path | None = None) -> Installation:
    """Return how this program was installed, as its metadata and its environment tell."""
    prefix = prefix or Path(sys.prefix)
    try:
        metadata = Distribution.from_name(_NAME)
    except PackageNotFoundError:  # run from its sources
        return Installation(python=sys.executable, sources=str(Path(__file__).parents[1]))
    direct = _read_json(metadata.read_text("direct_url.json"))
    folder = direct.get("dir_info")
    place = Path(unquote(urlsplit(str(direct.get("url", ""))).path))
    receipt = _read_receipt(prefix / "uv-receipt.toml")
    return Installation(
        python=sys.executable,
        tool=_tool_of(prefix),
        environment=prefix.name,
        sources=str(place) if folder is not None and place.is_dir() else None,
        editable=bool(folder and folder.get("editable")),
        extras=tuple(extra for entry in receipt[:1] for extra in entry.get("extras", ())),
        beside=tuple(str(entry["name"]) for entry in receipt[1:]),
        requires=tuple(metadata.requires or ()),
    )


def _tool_of(prefix: Path) -> str:
    if (prefix / "uv-receipt.toml").exists():
        return "uv tool"
    if (prefix / "pipx_metadata.json").exists():
        return "pipx"
    return "pip" if find_spec("pip") else "uv pip"


def _read_json(written: str | None) -> dict[str, Any]:
    try:
        read = loads(written or "{}")
    except JSONDecodeError:  # as if it had come from an index
        return {}
    return read if isinstance(read, dict) else {}


def _read_receipt(path: Path) -> list[dict[str, Any]]:
    """Return the requirements that uv noted: the program itself, then what goes beside it."""
    try:
        noted = tomllib.loads(path.read_text(encoding="utf-8"))
        return list(noted["tool"]["requirements"])
    except (OSError, ValueError, KeyError, TypeError):  # not by uv, or by one of another kind
        return []
