"""The process that reads sources, with a format whose records hang it, fill it and end it."""

import os
import signal
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import cast

from engine.ingest.detect import READERS
from engine.ingest.formats.jsonl import JsonlReader
from engine.ingest.reader import Reader, members_named
from engine.ingest.records import Defaults, PostFields, Reject, SourceRecord
from engine.ingest.sources import Source
from engine.ingest.worker import SourceSession
from engine.process_worker import Owner


def act(deed: object) -> None:
    match deed:
        case "loop":
            while True:
                pass
        case str() if deed.startswith("sleep "):
            Path(deed.removeprefix("sleep ")).touch()  # to say so
            time.sleep(600)
        case "grow":
            held = [bytes(1 << 20)]
            while True:
                held.append(bytes(1 << 24))
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "fail":
            raise ZeroDivisionError


class StrangeReader(JsonlReader):
    """Lines as JSON: what they say under `read` is done in reading, under `post` in translating."""

    name = "strange"

    def members(self, names: Sequence[str]) -> Sequence[str]:
        return members_named(r"[^/]+\.strange", names)

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        for found in super().records(source, names, defaults):
            if isinstance(found, SourceRecord):
                act(found.payload.get("read"))
            yield found

    def post(self, payload: Mapping[str, object]) -> PostFields:
        act(payload.get("post"))
        return super().post(payload)


class StrangeSession(SourceSession):
    """Takes the place of the session."""

    def __init__(self, owner: Owner) -> None:
        super().__init__(owner)
        cast(dict[str, Reader], READERS)["strange"] = StrangeReader()
