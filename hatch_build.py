"""Makes what a wheel holds besides its sources: catalogues, and what it was built from."""

import json
import os
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from polib import pofile

_NOTE = "build.json"
_GIT = ("git", "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*")


class ProjectHook(BuildHookInterface[Any]):
    """Runs before files are collected, for wheels and for editable installs."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write a .mo file beside each .po file, and bot/build.json into a wheel."""
        for source in Path(self.root, "bot", "i18n", "locale").glob("*.po"):
            catalogue = pofile(str(source), encoding="utf-8")
            catalogue.metadata["Content-Type"] = "text/plain; charset=UTF-8"  # for gettext
            catalogue.save_as_mofile(str(source.with_suffix(".mo")))
        if version != "editable":  # a checkout knows its commit, which changes
            note = Path(tempfile.mkdtemp(prefix="presagio-build-"), _NOTE)
            note.write_text(json.dumps({"commit": self._commit(), "date": _today()}))
            build_data["force_include"][str(note)] = f"bot/{_NOTE}"

    def finalize(
        self,
        version: str,  # noqa: ARG002 - theirs
        build_data: dict[str, Any],
        artifact_path: str,  # noqa: ARG002 - theirs
    ) -> None:
        """Remove what initialize wrote elsewhere."""
        for source in map(Path, build_data["force_include"]):
            if source.name == _NOTE:
                shutil.rmtree(source.parent)

    def _commit(self) -> str:
        """Return the commit that is checked out, "" without git or a checkout."""
        if not Path(self.root, ".git").exists():
            return ""
        try:
            done = subprocess.run(  # noqa: S603 - no part of it is given
                _GIT, cwd=self.root, capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError):
            return ""
        return done.stdout.strip()


def _today() -> str:
    """Return the day of the build, or the one that a reproducible build names."""
    named = os.environ.get("SOURCE_DATE_EPOCH")
    return f"{datetime.fromtimestamp(int(named), UTC) if named else datetime.now(UTC):%Y-%m-%d}"
