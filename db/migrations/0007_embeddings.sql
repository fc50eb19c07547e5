-- What is known about vectors. The vectors themselves are in one table a model, made when the
-- first of them is stored: they need the extension pgvector, which not every server has.

CREATE TABLE embedding_model (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    dimensions integer NOT NULL CHECK (dimensions > 0),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Cosines that a model gives within a corpus.
CREATE TABLE embedding_scale (
    model_id integer NOT NULL REFERENCES embedding_model ON DELETE CASCADE,
    corpus_id integer NOT NULL REFERENCES corpus ON DELETE CASCADE,
    documents bigint NOT NULL,  -- that had a vector when it was measured
    mean float8 NOT NULL,
    deviation float8 NOT NULL,
    same float8 NOT NULL,
    PRIMARY KEY (model_id, corpus_id)
);
