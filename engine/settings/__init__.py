"""The engine's settings: typed sections of config.toml.

Each key is declared once, here, with its default, limits and description. `bot/settings` reads
files and environment into these sections; the engine receives them ready-made.
"""
