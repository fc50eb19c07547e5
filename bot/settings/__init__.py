"""Typed settings from defaults, config.toml and environment, with one-line error messages."""

from bot.settings.load import load_settings
from bot.settings.model import Settings, masked_url

__all__ = ["Settings", "load_settings", "masked_url"]
