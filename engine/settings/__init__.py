"""What can be set about the engine: the sections of config.toml that it reads itself, typed.

A key is declared once, here, with its default, limits and description. `bot/settings` reads files
and environment into these sections; the engine takes them as they are.
"""
