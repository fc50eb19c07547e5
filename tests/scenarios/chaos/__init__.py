"""Processes that die, a database that restarts, platforms that fail: nothing lost, nothing twice.

`stage` has it all together; `python -m bench.chaos` and test_chaos.py play on it.
"""
