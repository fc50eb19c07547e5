-- Whose texts a corpus holds, and the phrases that a model says its account would have written.
ALTER TABLE corpus ADD COLUMN description text;

CREATE TABLE expansion (
    key text PRIMARY KEY,
    phrases text[] NOT NULL,
    model text,
    prompt_version text,
    created_at timestamptz NOT NULL
);
CREATE INDEX expansion_created ON expansion (created_at);
