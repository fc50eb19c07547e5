"""Orders passages by how well they answer a query: by words, by meaning, or by a model."""
