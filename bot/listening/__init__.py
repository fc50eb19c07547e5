"""The port that this program listens on: its connections, its limits, and what is pushed to it."""
