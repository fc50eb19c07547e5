"""The Slack face: translate in, render out, nothing else."""
