"""How good answers are, measured against headlines that people have judged."""
