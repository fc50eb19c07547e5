"""The query dialect: read, planned, found, and why.

Any text is a query. Lends `Query`, its reader and the way from a query to its documents.
"""
