"""Words that may stand for one another: groups, their terms, and what a model suggests."""
