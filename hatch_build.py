"""Compiles the catalogues when the project is built or installed: es.po to es.mo."""

from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CatalogueHook(BuildHookInterface[Any]):
    """Runs before files are collected, for wheels and for editable installs."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - theirs
        """Write a .mo file beside each .po file."""
        for source in Path(self.root, "bot", "i18n", "locale").glob("*.po"):
            with source.open("rb") as written, source.with_suffix(".mo").open("wb") as compiled:
                write_mo(compiled, read_po(written, locale=source.stem))
