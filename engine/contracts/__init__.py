"""The typed contracts of searches in corpora of each kind, for programs and agents."""
