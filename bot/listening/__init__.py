"""The port that this program listens on: its connections, its limits, and webhooks."""
