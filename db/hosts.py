"""Connects to that server of a URL which takes writes, and leaves one that another has succeeded.

Where a URL names several, the driver asks them in their order and gives all of them one time limit,
so that a machine without power uses it up; and it would go back to an old primary that was
started again by mistake. Here each host has its share of the time, the one that answered is
asked first, and a server of an older timeline is refused: promotion begins a new one.
"""

import asyncio
import logging
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from weakref import WeakKeyDictionary

import asyncpg

logger = logging.getLogger("presagio.database")

_HOST = re.compile(r"(\[[^]]*\]|[^:]*):?(\d*)")
_DEFAULT_PORT = 5432
_LOOK_SECONDS = 1.0  # that a start waits for hosts that do not answer
# What a pooler says to whoever asks for settings.
REFUSED_SETTING = "startup parameter"
# What another host may make good.
_ELSEWHERE = (
    OSError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.PostgresConnectionError,
)
# 0 where nothing can be written. A pooler may keep what the server said of itself long ago, which
# is what the driver goes by.
_TIMELINE = """
SELECT CASE WHEN pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean
            THEN 0
            ELSE ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::integer
       END
"""


_ANY: Mapping[str, Any] = {"target_session_attrs": "any"}


class Host(NamedTuple):
    """Where a server is."""

    name: str  # or the folder of its socket
    port: int

    def __str__(self) -> str:
        """Return both as they are written in a URL."""
        return f"{self.name}:{self.port}"


def hosts_of(url: str) -> list[Host]:
    """Return the hosts of a URL in their order; one that makes no sense is for the driver."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return [Host("?", _DEFAULT_PORT)]
    query = parse_qs(parts.query)
    named = query["host"][-1] if "host" in query else parts.netloc.rpartition("@")[2]
    ports = query["port"][-1].split(",") if "port" in query else [""]
    hosts = []
    for number, host in enumerate(named.split(",")):
        found = _HOST.fullmatch(unquote(host))
        name, port = (found[1].strip("[]"), found[2]) if found else ("?", "")
        port = port or ports[min(number, len(ports) - 1)]
        hosts.append(Host(name or "localhost", int(port) if port.isdigit() else _DEFAULT_PORT))
    return hosts


class Route:
    """The way to the primary: which host is asked first, and the latest timeline that was seen."""

    def __init__(self, url: str) -> None:
        self._hosts = hosts_of(url)
        self._timeline, self._looked = 0, False
        self._open: WeakKeyDictionary[asyncpg.Connection[asyncpg.Record], int] = WeakKeyDictionary()

    async def connect(
        self,
        url: str,
        *,
        timeout: float,  # noqa: ASYNC109 - as the driver has it
        **arguments: Any,
    ) -> "asyncpg.Connection[asyncpg.Record]":
        """Connect to the primary. Raises errors of the driver, OSError, ValueError."""
        if len(self._hosts) == 1:
            return await asyncpg.connect(url, timeout=timeout, **arguments)
        if not self._looked:
            self._looked = True
            await self._find_latest(url, arguments)
        failures: list[str] = []
        for host in tuple(self._hosts):
            try:
                async with asyncio.timeout(timeout / len(self._hosts)):
                    return await self._connect_to(host, url, arguments)
            except _ELSEWHERE as error:
                if REFUSED_SETTING in str(error):
                    raise
                failures.append(f"{host}: {_reason(error)}")
        raise OSError("; ".join(failures))

    async def _find_latest(self, url: str, arguments: Mapping[str, Any]) -> None:
        """Ask all hosts which timeline they are on: the first may be an old primary."""

        async def look(host: Host) -> None:
            (await self._connect_to(host, url, arguments)).terminate()

        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                await asyncio.gather(*map(look, self._hosts), return_exceptions=True)

    async def _connect_to(
        self, host: Host, url: str, arguments: Mapping[str, Any]
    ) -> "asyncpg.Connection[asyncpg.Record]":
        connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(
            url, **arguments, host=host.name, port=host.port, **_ANY
        )
        try:
            timeline = await connection.fetchval(_TIMELINE)
            self._require_latest(timeline)
        except BaseException:
            connection.terminate()
            raise
        self.note_primary(host, timeline)
        self._open[connection] = timeline
        return connection

    def _require_latest(self, timeline: int) -> None:
        if not timeline:
            raise OSError("it takes no writes")
        if timeline < self._timeline:
            raise OSError("another server has succeeded it")

    def note_primary(self, host: Host, timeline: int) -> None:
        """Ask this host first from now on, if it is one of these and no other has succeeded it.

        Connections to servers that it succeeds end: what is stored there is stored nowhere else.
        """
        if len(self._hosts) == 1 or host not in self._hosts or timeline < self._timeline:
            return
        if 0 < self._timeline < timeline:
            logger.warning("%s has become the primary", host)
        self._timeline = timeline
        self._hosts.sort(key=lambda each: each != host)
        for connection, older in [*self._open.items()]:
            if older < timeline:
                connection.terminate()


def _reason(error: BaseException) -> str:
    return "it does not answer" if isinstance(error, TimeoutError) else str(error)
