"""Makes folders and files below the data folder, for its owner alone."""

import os
from pathlib import Path


def make_folder(folder: Path, *, within: Path) -> None:
    """Make a folder below the data folder, which it shares its owner with, for that owner alone."""
    missing = [absent for absent in (folder, *folder.parents) if absent.is_relative_to(within)]
    for absent in reversed(missing):
        if not absent.exists():
            absent.mkdir(mode=0o700, parents=True, exist_ok=True)
            give_to_owner(absent, of=within)


def give_to_owner(path: Path, *, of: Path) -> None:
    """Give what root wrote to the owner of the data folder.

    Otherwise a command of root would keep the account that serves from reading and writing there.
    """
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        owner = of.stat()
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
