"""The Telegram face: translate in, render out, nothing else."""
