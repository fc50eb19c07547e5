"""Requests off the wire: where they point, and the parameters inside any body Telegram takes."""

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from aiohttp import BodyPartReader, web

from tests.fakes.telegram.schema import Upload

_METHOD = re.compile(r"/bot([^/]+)/([A-Za-z]+)")
_FILE = re.compile(r"/file/bot([^/]+)/(.+)")
TOKEN = re.compile(r"[1-9][0-9]*:[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Target:
    """A token and either a method or the path of a file."""

    token: str
    method: str = ""
    file: str = ""


@dataclass(slots=True)
class Body:
    """Parameters as sent, and files by the name of their part."""

    raw: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Upload] = field(default_factory=dict)


def target(path: str) -> Target | None:
    """What a path asks for; None if it is none of Telegram's."""
    if found := _METHOD.fullmatch(unquote(path)):
        return Target(found.group(1), method=found.group(2))
    if found := _FILE.fullmatch(unquote(path)):
        return Target(found.group(1), file=found.group(2))
    return None


async def body(request: web.Request) -> Body:
    """The query string, then the body: urlencoded, multipart or JSON."""
    read = Body(dict(request.query))
    if request.content_type == "application/json":
        read.raw |= await request.json() if request.can_read_body else {}
    elif request.content_type == "multipart/form-data":
        await _multipart(request, read)
    else:
        read.raw |= {name: str(value) for name, value in (await request.post()).items()}
    return read


async def _multipart(request: web.Request, read: Body) -> None:
    async for part in await request.multipart():
        assert isinstance(part, BodyPartReader)
        assert part.name, "every part of a form has a name"
        content = bytes(await part.read(decode=True))
        if part.filename:
            read.files[part.name] = Upload(part.filename, content)
        else:
            read.raw[part.name] = content.decode()
