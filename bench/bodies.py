"""Sends large bodies to `presagio serve`: what it answers, what it holds, and how long others wait.

`python -m bench.bodies [--mb 200]`

Each attempt sends a body of that size, or until it is answered and cut off, while `/healthz` is
asked all the time. The server is one process, with a key and without.
"""

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import httpx

from bench.store import folder
from bench.timing import Output, progress
from tests.network import find_free_port

_PART = b" " * 65_536
_CHUNK = b"%x\r\n%b\r\n" % (len(_PART), _PART)
_BYTES = b"1\r\nx\r\n" * 10_000
_ATTEMPTS: Sequence[tuple[str, str, str, bytes]] = (
    ("announced", "/api/compose", "Content-Length: {size}", _PART),
    ("chunked", "/api/compose", "Transfer-Encoding: chunked", _CHUNK),
    ("chunks of a byte", "/api/compose", "Transfer-Encoding: chunked", _BYTES),
    ("form", "/compose", "Content-Length: {size}", _PART),
    ("chunked form", "/compose", "Transfer-Encoding: chunked", _CHUNK),
    ("nowhere", "/nowhere", "Transfer-Encoding: chunked", _CHUNK),
)
_PATIENCE = 60.0


@contextmanager
def serving(**environ: str) -> Iterator[tuple[int, int]]:
    """Yield the port and the number of a process that serves the demo corpus."""
    with folder() as data:
        port = find_free_port()
        settings = {"PRESAGIO_DATA_DIR": str(data), "PRESAGIO_WEB__PORT": str(port),
                    "PRESAGIO_WEB__ENABLED": "true"}  # fmt: skip
        environment = {**os.environ, **settings, **environ}
        command = [sys.executable, "-m", "bot"]
        subprocess.run([*command, "demo"], env=environment, check=True, stdout=subprocess.DEVNULL)
        process = subprocess.Popen([*command, "serve"], env=environment)
        try:
            with httpx.Client() as client:
                while not answers(client, port):
                    time.sleep(0.1)
            yield port, process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def answers(client: httpx.Client, port: int) -> bool:
    """Return whether the server is up."""
    with suppress(httpx.HTTPError):
        return client.get(f"http://127.0.0.1:{port}/healthz").is_success
    return False


def memory(pid: int) -> int:
    """Return the MB that a process has held at most."""
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:  # noqa: PTH123 - read as it is
        return int(re.findall(r"VmHWM:\s+(\d+)", lines.read())[0]) // 1024


def send_body(port: int, path: str, line: str, part: bytes, size: int) -> tuple[str, int]:
    """Send a body, and return the status of the answer and the bytes that were sent."""
    sent = 0
    with socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE) as connection:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{line.format(size=size)}\r\n\r\n"
        connection.sendall(head.encode())
        with suppress(OSError):
            while sent < size:
                connection.sendall(part)
                sent += len(part)
        with suppress(OSError):
            return connection.recv(4096).split(b" ")[1].decode(), sent
    return "none", sent


def measure(port: int, path: str, line: str, part: bytes, size: int) -> dict[str, object]:
    """Return what became of a body, and the longest wait of others meanwhile."""
    waits, ended = [0.0], threading.Event()

    def ask() -> None:
        with httpx.Client(timeout=_PATIENCE) as client:
            while not ended.is_set():
                begun = time.perf_counter()
                client.get(f"http://127.0.0.1:{port}/healthz")
                waits.append(time.perf_counter() - begun)
                time.sleep(0.01)

    asking = threading.Thread(target=ask)
    asking.start()
    status, sent = send_body(port, path, line, part, size)
    ended.set()
    asking.join()
    return {"status": status, "sent_mb": sent >> 20, "healthz_ms": round(max(waits) * 1000)}


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.bodies", description=__doc__)
    parser.add_argument("--mb", type=int, default=200, help="size of a body (200)")
    size = parser.parse_args(argv).mb << 20
    output = Output("bodies")
    for keys in ({}, {"WEB_API_KEYS": "k"}):
        with serving(**keys) as (port, pid):
            for name, path, line, part in _ATTEMPTS:
                before = memory(pid)
                figures = measure(port, path, line, part, size)
                held = {"before_mb": before, "after_mb": memory(pid)}
                output.row(attempt=name, key=bool(keys), **figures, **held)
    output.table()
    progress("No wait may reach 200 ms, and no memory grow by more than a few MB.")


if __name__ == "__main__":
    main()
