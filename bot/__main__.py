"""Starts the `presagio` command. Signals are handled first, as the rest is slow to import."""

import gc
import os

from bot.signals import exit_on_signals

# What the program writes holds private texts: other accounts of the machine get no rights.
_UMASK = 0o077


def main() -> None:
    """Run the command named in the arguments; see bot.cli.main."""
    exit_on_signals()
    gc.disable()  # what is imported stays, and searching it for garbage takes a fifth of the time
    os.umask(os.umask(_UMASK) | _UMASK)
    from bot.cli.main import main as run_command  # noqa: PLC0415 - see above

    run_command()


if __name__ == "__main__":
    main()
