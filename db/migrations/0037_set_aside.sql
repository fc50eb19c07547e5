-- Texts that a model on this machine breaks down over: they are not given to it again.
CREATE TABLE set_aside_text (
    model text NOT NULL,
    source uuid NOT NULL,           -- tells the text from others, as in the tables of vectors
    characters integer NOT NULL,
    set_aside_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (model, source)
);
