"""Colour pictures of emoji: PNG files named by their code points, as Twemoji names them."""

from pathlib import Path

PRESENTATION = "\ufe0f"  # "draw the character before me as an emoji"


class EmojiPictures:
    """The pictures of one folder (`1f525.png`, `1f1ea-1f1f8.png`), or none without a folder."""

    def __init__(self, folder: Path | None) -> None:
        self._files: dict[str, Path] = {}
        for file in sorted(folder.glob("*.png")) if folder else ():
            # The presentation selector is optional when typed, so it is in no key.
            self._files[_text_of(file.stem).replace(PRESENTATION, "")] = file
        self._longest = max(map(len, self._files), default=0)

    def match(self, text: str, start: int) -> tuple[int, Path] | None:
        """Return where the longest emoji at `start` ends, and its picture, or None."""
        found = None
        key = ""
        for at in range(start, len(text)):
            if text[at] != PRESENTATION:
                key += text[at]
            elif found and found[0] == at:
                found = (at + 1, found[1])
            if len(key) > self._longest:
                break
            if text[at] != PRESENTATION and key in self._files:
                found = (at + 1, self._files[key])
        return found


def _text_of(stem: str) -> str:
    return "".join(chr(int(part, 16)) for part in stem.split("-"))
