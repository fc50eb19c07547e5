"""Takes an event to its reply, in the same way on every platform.

An adapter passes in a `Request`; gates, back-pressure and event claims decide whether it is
answered.
"""
