"""How long tests wait for what must happen."""

# Nothing takes this long, on a machine with better things to do either: what has not happened by
# then never will. A test that passes waits for the event, not for this.
PATIENCE = 60.0
