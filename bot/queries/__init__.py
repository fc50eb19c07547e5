"""What people ask, answered with the right corpus and logged: finds, questions, typed searches."""
