"""Libraries of models, as modules on the path: the process of a model imports them as any other.

What a text says is done: "crash", "hang" (it takes processor time), "kill", "fail" and "nan". Each
call is written down in the file CALLS, beside the module, with the niceness of the process.
"""

import json
from pathlib import Path
from typing import Any

import pytest

_SOURCE = '''
import json, math, os, signal, time
from pathlib import Path

FILE = Path(__file__).parent / "calls"


def note(*what):
    with FILE.open("a") as file:
        print(json.dumps([os.getpid(), os.nice(0), *what]), file=file)


def act(text):
    if "crash" in text:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "kill" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    if "fail" in text:
        raise RuntimeError("no tensor")
    if "wait" in text:
        time.sleep(0.3)
    while "hang" in text:
        pass


class Rows(list):
    def tolist(self):
        return list(self)


class Encoder:
    """A text's vector is its length."""

    def __init__(self, name):
        if name == "missing":
            raise OSError("missing is not a local folder")
        act(name)
        note("load")

    @classmethod
    def from_pretrained(cls, name):
        return cls(name)

    def encode(self, texts):
        note("encode", texts)
        for text in texts:
            act(text)
        return Rows(Rows([math.nan if "nan" in text else float(len(text))]) for text in texts)

    def predict(self, pairs):
        note("predict", pairs)
        for query, text in pairs:
            act(query + text)
        return [8.0 if set(query.split()) & set(text.split()) else -8.0 for query, text in pairs]


StaticModel = SentenceTransformer = CrossEncoder = Encoder
'''


class Library:
    """A library in whose place a stand-in answers."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._calls = folder / "calls"
        (folder / f"{name.replace('-', '_')}.py").write_text(_SOURCE)

    def calls(self, what: str) -> list[Any]:
        """Return what was passed to the calls of that kind."""
        return [call[3:] for call in self._noted() if call[2] == what]

    @property
    def processes(self) -> int:
        return sum(call[2] == "load" for call in self._noted())

    @property
    def niceness(self) -> list[int]:
        """That of the process of each call."""
        return [call[1] for call in self._noted() if call[2] != "load"]

    def _noted(self) -> list[list[Any]]:
        if not self._calls.exists():
            return []
        return [json.loads(line) for line in self._calls.read_text().splitlines()]


def put_library(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.syspath_prepend(str(folder))
    return Library(folder, name)
