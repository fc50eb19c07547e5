"""OCR: reads the text of pictures with tesseract, where that is installed."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache

from engine.errors import RecordError
from engine.ingest.parsers.parsed import ParsedDocument, damaged_error, empty_error, join_paragraphs
from engine.messages import Message
from engine.text.chunks import Block

if sys.platform != "win32":
    import resource


PROGRAM = "tesseract"
# The process that reads files has no environment.
_PLACES = os.pathsep.join(("/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/bin", os.defpath))
_LAYOUT = "3"  # finds columns by itself; others that are as fast read across them
_SECONDS = 60  # of processor time, and of the clock, for a page
_CLOCK = 4 * _SECONDS
_PARENT_DIES = 1  # PR_SET_PDEATHSIG
_NO_LANGUAGES = frozenset(("osd", "equ"))

_CODES = {
    "arabic": "ara", "armenian": "hye", "basque": "eus", "catalan": "cat", "danish": "dan",
    "dutch": "nld", "english": "eng", "finnish": "fin", "french": "fra", "german": "deu",
    "greek": "ell", "hindi": "hin", "hungarian": "hun", "indonesian": "ind", "irish": "gle",
    "italian": "ita", "lithuanian": "lit", "nepali": "nep", "norwegian": "nor",
    "portuguese": "por", "romanian": "ron", "russian": "rus", "serbian": "srp",
    "spanish": "spa", "swedish": "swe", "tamil": "tam", "turkish": "tur", "yiddish": "yid",
}  # fmt: skip


class Ocr:
    """Reads pictures in `language`, if its data is installed, else in all that are.

    `alive` is called after each picture.
    """

    def __init__(
        self, language: str | None = None, *, alive: Callable[[], object] | None = None
    ) -> None:
        self._language, self._alive = language, alive

    @property
    def available(self) -> bool:
        """Whether the program and data of a language are installed."""
        return bool(self.languages)

    @property
    def languages(self) -> tuple[str, ...]:
        """The codes of the languages whose data is installed."""
        return _list_installed_languages() if _find_program() else ()

    def require(self) -> None:
        """Raise RecordError if pictures cannot be read."""
        if not self.available:
            raise RecordError(
                Message("reading the text of pictures needs the program {name}", name=PROGRAM)
            )

    def read(self, picture: bytes) -> str:
        """Return the text of a picture (PNG, JPEG, TIFF, PNM...). Raises RecordError."""
        self.require()
        program = _find_program() or PROGRAM
        installed, own = self.languages, _CODES.get(self._language or "")
        codes = own if own in installed and own else "+".join(installed)
        try:
            done = subprocess.run(  # noqa: S603 - no part of it comes from the file
                [program, "-", "-", "--psm", _LAYOUT, "-l", codes],
                input=picture,
                capture_output=True,
                timeout=_CLOCK,
                preexec_fn=None if sys.platform == "win32" else _limit_child,
                env={"OMP_THREAD_LIMIT": "1"},
                check=False,
            )
        except subprocess.TimeoutExpired as exc:
            raise _too_slow() from exc
        finally:
            if self._alive:
                self._alive()
        if sys.platform != "win32" and -done.returncode in (signal.SIGXCPU, signal.SIGKILL):
            raise _too_slow()
        if done.returncode:
            raise damaged_error()
        return done.stdout.decode("utf-8", "replace")


def parse_picture(content: bytes, ocr: Ocr) -> ParsedDocument:
    """Return the text of a picture, page by page. Raises RecordError."""
    pages = ocr.read(content).split("\f")
    blocks = [
        Block(text=text, page=number, recognised=True)
        for number, page in enumerate(pages, start=1)
        for text in join_paragraphs(page.split("\n"))
    ]
    if not blocks:
        raise empty_error()
    return ParsedDocument(blocks=blocks, pages=max(block.page or 1 for block in blocks))


@cache
def _find_program() -> str | None:
    return shutil.which(PROGRAM, path=os.environ.get("PATH", "") + os.pathsep + _PLACES)


@cache
def _list_installed_languages() -> tuple[str, ...]:
    """Return the codes of the languages whose data is installed."""
    try:
        done = subprocess.run(  # noqa: S603 - no part of it is given
            [_find_program() or PROGRAM, "--list-langs"],
            capture_output=True,
            timeout=_CLOCK,
            env={},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    lines = done.stdout.decode("utf-8", "replace").splitlines()[1:]
    return tuple(sorted(line for line in lines if line and line not in _NO_LANGUAGES))


def _limit_child() -> None:
    """Limit the processor time of the program, and have it end with this process."""
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS + 5))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DIES, signal.SIGKILL)


def _too_slow() -> RecordError:
    return RecordError(
        Message(
            "reading the text of one of its pictures takes more than {number} s", number=_SECONDS
        )
    )
