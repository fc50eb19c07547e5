"""Starts the `presagio` command. Signals are handled first, as the rest is slow to import."""

from bot.signals import exit_on_signals


def main() -> None:
    """Run the command named in the arguments; see bot.cli.main."""
    exit_on_signals()
    from bot.cli.main import main as run_command  # noqa: PLC0415 - see above

    run_command()


if __name__ == "__main__":
    main()
