"""Starts the `presagio` command. Signals come first: the rest takes a moment to import."""

from bot.signals import exit_on_signals


def main() -> None:
    """Run the command that the arguments name; see bot.cli.main."""
    exit_on_signals()
    from bot.cli.main import main as run_command  # noqa: PLC0415 - see above

    run_command()


if __name__ == "__main__":
    main()
