"""One way to ask a language model: the client, its wire format, its faults, its budget.

Lends `ChatClient` and `ask`; prompts stand in `prompts`. Judge, phrases, answers and the
glossary ask through it.
"""
