def main() -> None:
    """Entry point of the `presagio` command."""
