"""Writing tweets from evidence, so that each claim cites a source that was checked by code.

retrieve -> gaps -> web -> merge -> evidence -> write -> guard -> check. `Composer` runs the steps.
"""
