"""Whole stories in a Slack workspace."""
