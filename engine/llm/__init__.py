"""The language model client: its wire format, faults, retries and budget.

`ChatClient` is the client; `ask_and_repair` asks a question; prompts are in `prompts`. Judge,
phrases, answers and glossary all use it.
"""
