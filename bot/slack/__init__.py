"""The Slack adapter: translate in, render out, nothing else."""
