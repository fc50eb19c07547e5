"""Runs and logs queries against the right corpus: finds, questions and typed searches."""
