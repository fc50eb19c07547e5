"""PgBouncer in transaction mode in front of a database, where it is installed."""

import os
import pwd
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.network import find_free_port
from tests.patience import PATIENCE

# A path names another than the installed one. Read before the environment is emptied for the tests.
_NAMED = os.environ.get("PRESAGIO_TEST_POOLER", "")
_SETTINGS = """\
[databases]
* = {server} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
{more}
"""


@contextmanager
def pooler(url: str, folder: Path, more: str = "") -> Iterator[str]:
    """Run PgBouncer in front of the database of a URL; yield the URL through it."""
    program = _program()
    if program is None:
        pytest.skip("pgbouncer is not installed")
    parts, port = urlsplit(url), find_free_port()
    asked = parse_qs(parts.query)
    host = asked["host"][0] if "host" in asked else str(parts.hostname)
    number = int(asked["port"][0] if "port" in asked else parts.port or 5432)
    server = f"host={host} port={number}"
    settings = folder / f"pgbouncer-{port}.ini"
    settings.write_text(_SETTINGS.format(server=server, user=parts.username, port=port, more=more))
    settings.chmod(0o644)
    # It refuses to run as root, and has to reach the server's socket.
    owner = None if os.geteuid() else _account(host)
    running = subprocess.Popen([program, "-q", settings], user=owner, stderr=subprocess.DEVNULL)
    try:
        _wait_for(running, port)
        yield f"postgresql://{parts.username}@127.0.0.1:{port}{parts.path}"
    finally:
        running.kill()  # told to end, newer ones wait for their clients
        running.wait()


def _account(host: str) -> int:
    return Path(host).stat().st_uid if host.startswith("/") else pwd.getpwnam("nobody").pw_uid


def keeps_statements() -> bool:
    """Tell whether the program can keep prepared statements, as PgBouncer does from 1.21 on."""
    program = _program()
    if program is None:
        pytest.skip("pgbouncer is not installed")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"PgBouncer (\d+)\.(\d+)", said)
    return found is not None and (int(found[1]), int(found[2])) >= (1, 21)


def _program() -> str | None:
    if os.sep in _NAMED:
        return _NAMED
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


def _wait_for(running: "subprocess.Popen[bytes]", port: int) -> None:
    """Return when the port is open. Raises AssertionError if the program ended."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert running.poll() is None, "pgbouncer did not start"
            assert time.monotonic() < end, "pgbouncer does not listen"
            time.sleep(0.02)
        else:
            return
