"""Pictures and videos: brought from an export, and part of a backup."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from bot.console.output import Output
from bot.media import Media, files_in, text_ids
from bot.settings import Settings
from db.search.shown import Shown

if TYPE_CHECKING:
    from bot.app import App

_BATCH = 10_000  # ids in one statement


async def bring_media(app: "App", name: str, folder: str, *, json: bool, output: Output) -> None:
    """Copy the media of a corpus's texts. Raises CorpusNotFound, InputError, StorageError."""
    corpus, shown = await app.corpora.get(name), Shown(app.database)
    files = await asyncio.to_thread(files_in, folder)
    ids, known = list(text_ids(files)), set[str]()
    for first in range(0, len(ids), _BATCH):
        known |= await shown.existing(corpus, ids[first : first + _BATCH])
    media = Media(app.settings.data_dir)
    brought = await asyncio.to_thread(media.bring, corpus, files, known)
    if json:
        left_out = {reason.name.lower(): number for reason, number in brought.left_out.items()}
        row = {"name": name, "files": brought.files, "texts": brought.texts, "left_out": left_out}
        output.json(row)
        return
    output.line(f"{brought.files:,} files of {brought.texts:,} texts are with {name} now.")
    for reason, number in sorted(brought.left_out.items()):
        output.remark(f"Left out: {number:,}, {reason.value}.")


async def save_media(settings: Settings, file: Path | None, *, output: Output) -> int:
    """Write all files to the archive `file` and return their number; without one, tell of them.

    Raises InputError.
    """
    media = Media(settings.data_dir)
    if file:
        return await asyncio.to_thread(media.pack, file)
    if number := await asyncio.to_thread(media.files):
        output.remark(
            f"{number:,} pictures and videos of texts are not in it. To save them: --media FILE.tar"
        )
    return 0


async def load_media(settings: Settings, file: Path) -> int:
    """Replace all files by those of the archive `file` and return their number.

    Raises InputError.
    """
    return await asyncio.to_thread(Media(settings.data_dir).unpack, file)
