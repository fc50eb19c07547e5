"""The settings the embedded server starts with."""

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from db.sockets import PORT

SETTINGS_FILE = "presagio.conf"
_MEGABYTE = 1024 * 1024
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def write_settings(folder: Path, sockets: Path, extra: Mapping[str, str]) -> None:
    """Write the settings for the next start of `folder`; `extra` adds to them or replaces them.

    What its owner sets with ALTER SYSTEM wins. Raises OSError.
    """
    settings = {
        **_SETTINGS,
        "shared_buffers": shared_buffers(_total_memory()),
        **_address(sockets),
        **extra,
    }
    lines = [f"{name} = '{_escaped(value)}'\n" for name, value in settings.items()]
    header = "# Written anew at every start: change settings with ALTER SYSTEM.\n"
    (folder / SETTINGS_FILE).write_text(header + "".join(lines), encoding="utf-8")


_SETTINGS = {
    "max_connections": "100",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "max_wal_size": "1GB",
    "jit": "off",
    # Handing pages to another process costs more than reading what the system has in memory.
    "io_method": "sync",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    # The log tells of starts, stops and crashes only, so that it stays short: a failed statement
    # is reported by the program that sent it.
    "logging_collector": "off",
    "log_min_messages": "log",
    "log_checkpoints": "off",
}


def shared_buffers(total_memory: int) -> str:
    """Return a quarter of the memory (given in bytes) within 64 to 512 MB."""
    return f"{min(max(total_memory // 4 // _MEGABYTE, 64), 512)}MB"


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


def _address(sockets: Path) -> dict[str, str]:
    if sys.platform == "win32":
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        return {"listen_addresses": "127.0.0.1", "port": str(port)}
    return {
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_directories": f'"{sockets}"',
        "unix_socket_permissions": "0700",
    }


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")
