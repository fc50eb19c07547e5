"""The `presagio` command as a process, for tests of exit codes, signals and pipes."""

import io
import subprocess
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import orjson

from tests.database import wait_for

PROGRAM = Path(sysconfig.get_path("scripts")) / "presagio"
ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120  # after which a process hangs, on a busy machine too


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object that it printed."""
        assert self.code == 0, self
        assert self.out.count("\n") == 1, self.out
        return orjson.loads(self.out)

    @property
    def json_lines(self) -> list[Any]:
        return [orjson.loads(line) for line in self.out.splitlines()]

    def complaint(self, code: int = 1) -> str:
        """Return the one line on stderr with which it failed; nothing else came out."""
        assert (self.code, self.out) == (code, ""), self
        *before, last = self.err.splitlines()
        assert last.startswith("presagio: "), self.err
        assert "Traceback" not in self.err
        assert not any(line.startswith("presagio: ") for line in before), self.err
        return last.removeprefix("presagio: ")


class Terminal(io.StringIO):
    """A stream at which somebody sits."""

    def isatty(self) -> bool:
        return True


def start(*arguments: str | bytes, **options: Any) -> "subprocess.Popen[bytes]":
    """Start the command in this test's environment; its output can be read."""
    streams: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    }
    return subprocess.Popen([PROGRAM, *arguments], **(streams | options))


def finish(process: "subprocess.Popen[bytes]") -> Done:
    try:
        out, err = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    return Done(process.returncode, (out or b"").decode(), (err or b"").decode())


def presagio(
    *arguments: str | bytes,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    cwd: Path | None = None,
) -> Done:
    """Run the command to its end, in this test's environment unless another is given."""
    done = subprocess.run(
        [PROGRAM, *arguments],
        input=stdin,
        capture_output=True,
        env=env,
        cwd=cwd,
        timeout=SECONDS,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def write_tweets(path: Path, ids: range, *, text: str = "Thought {} of rust and rain") -> Path:
    """Write one record of the plain format for each id."""
    records = (
        {"id": str(n), "text": text.format(n), "created_at": f"{2010 + n % 8}-03-05T12:00:00Z"}
        for n in ids
    )
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    return path


def ask(url: str, query: str, *arguments: object) -> Any:

    async def fetch() -> Any:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval(query, *arguments)
        finally:
            await connection.close()

    return wait_for(fetch())


def write_chat(path: Path) -> str:
    """Write a chat of three messages and return the thread that it becomes."""
    path.write_text(
        "31/12/2020, 23:57 - Messages and calls are end-to-end encrypted.\n"
        "31/12/2020, 23:58 - Ana: Will it rain?\n"
        "31/12/2020, 23:59 - Bob: A storm,\nthey say\n"
        "01/01/2021, 00:10 - Ana: <Media omitted>\n",
        encoding="utf-8",
    )
    return path.stem
