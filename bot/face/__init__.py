"""The interface of a face: requests in, replies out, and what a platform must implement.

All platforms, commands and the conversation exchange these values.
"""
