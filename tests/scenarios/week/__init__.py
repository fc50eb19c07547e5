"""Seven days of a bot that two platforms keep: people, posts, kills, and what everybody read.

`stage` has it all together, `script` tells what people do, and `transcript` reads it back;
test_week.py plays it. PRESAGIO_TEST_TRANSCRIPT names a file that keeps the transcript.
"""
