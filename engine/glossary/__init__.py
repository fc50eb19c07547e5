"""Words that may stand for one another: groups, their terms, and a model's suggestions."""
