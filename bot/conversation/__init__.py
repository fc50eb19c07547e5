"""An event on its way to its reply, the same on every platform.

A face hands in a `Request`; gates, back-pressure and event claims decide whether it is answered.
"""
