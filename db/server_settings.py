"""The settings the embedded server starts with."""

import hashlib
import os
import socket
import stat
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from db.account import Account
from engine.errors import StorageRights

SETTINGS_FILE = "presagio.conf"
PORT = 5432
_MEGABYTE = 1024 * 1024
# A socket's whole path fits 104 bytes on macOS and 108 on Linux, with the closing zero.
_LONGEST_SOCKET_FOLDER = 103 - len(f"/.s.PGSQL.{PORT}")
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def write_settings(folder: Path, account: Account | None, extra: Mapping[str, str]) -> None:
    """Write the settings for the next start of `folder`; `extra` adds to them or replaces them.

    What its owner sets with ALTER SYSTEM wins. Raises OSError, StorageRights.
    """
    settings = {**_SETTINGS, **_memory(), **_address(folder, account), **extra}
    lines = [f"{name} = '{_escaped(value)}'\n" for name, value in settings.items()]
    header = "# Written anew at every start: change settings with ALTER SYSTEM.\n"
    (folder / SETTINGS_FILE).write_text(header + "".join(lines), encoding="utf-8")


_SETTINGS = {
    "max_connections": "100",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "max_wal_size": "1GB",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    # The log tells of starts, stops and crashes only, so that it stays short: a failed statement
    # is reported by the program that sent it.
    "logging_collector": "off",
    "log_min_messages": "log",
    "log_checkpoints": "off",
}


def _memory() -> dict[str, str]:
    megabytes = min(max(_total_memory() // 4 // _MEGABYTE, 64), 512)
    return {"shared_buffers": f"{megabytes}MB"}


def _total_memory() -> int:
    """Return the bytes of memory this machine or container may use; 1 GiB where unknown."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        total = 1024 * _MEGABYTE
    try:
        return min(total, int(_CGROUP_LIMIT.read_text()))
    except (OSError, ValueError):  # no cgroup, or no limit ("max")
        return total


def _address(folder: Path, account: Account | None) -> dict[str, str]:
    if sys.platform == "win32":
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        return {"listen_addresses": "127.0.0.1", "port": str(port)}
    sockets = folder if _fits(folder) else _private_folder(folder, account)
    return {
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_directories": f'"{sockets}"',
        "unix_socket_permissions": "0700",
    }


def _fits(folder: Path) -> bool:
    """Tell whether a socket in `folder` has a path that servers and clients can use."""
    name = os.fsencode(folder)
    return len(name) <= _LONGEST_SOCKET_FOLDER and not set(name) & set(b'",\n')


def _private_folder(folder: Path, account: Account | None) -> Path:
    """Return the folder for the socket of a data folder whose path is too long.

    Raises StorageRights when somebody else has put something in its place.
    """
    name = f"presagio-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    place = Path(tempfile.gettempdir()).resolve() / name
    if not _fits(place):
        place = Path("/tmp").resolve() / name  # noqa: S108 - ownership is checked below
    place.mkdir(mode=0o700, exist_ok=True)
    status = place.lstat()
    owners = {os.geteuid()} | ({account.uid} if account else set())
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in owners or status.st_mode & 0o077:
        raise StorageRights(
            f"The folder {place} for the database's socket is not private to this account.",
            fix="Remove it, or choose a data folder with a shorter path.",
        )
    if account:
        account.admit(place.parent)
        account.own(place)
    return place


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")
