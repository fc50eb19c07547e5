"""The Telegram adapter: translate in, render out, nothing else."""
