"""The query dialect: parsing, planning, finding documents, and receipts.

Any text is a valid query. Other packages use `Query`, its parser and `Finder`.
"""
