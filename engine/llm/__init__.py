"""The language model client: its wire format, faults, retries and budget.

`ChatClient` is the client; `ask_and_repair` asks a question. Judge, phrases, answers and glossary
use it, each with its own prompt.
"""
