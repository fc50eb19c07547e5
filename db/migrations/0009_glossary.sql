-- Groups of words that mean the same, and the pairs that people said do not.

CREATE TABLE alias_group (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    corpus_id integer REFERENCES corpus ON DELETE CASCADE,  -- NULL: of every corpus
    status text NOT NULL CHECK (status IN ('pending', 'approved')),
    terms text[] NOT NULL CHECK (cardinality(terms) >= 2),
    -- The terms normalised and sorted: the same in any order and case.
    keys text[] NOT NULL CHECK (cardinality(keys) = cardinality(terms)),
    sure boolean,  -- what the model said of its suggestion; NULL: a person's own
    created_at timestamptz NOT NULL,
    UNIQUE NULLS NOT DISTINCT (corpus_id, keys)
);

CREATE TABLE rejected_alias (
    corpus_id integer REFERENCES corpus ON DELETE CASCADE,  -- NULL: in every corpus
    first text COLLATE "C" NOT NULL,
    second text COLLATE "C" NOT NULL CHECK (first < second),
    rejected_at timestamptz NOT NULL,
    UNIQUE NULLS NOT DISTINCT (corpus_id, first, second)
);

-- Counts the changes: every process reads it with the corpus and knows when to read the groups
-- anew. 0: there never was one. Its row is also what writers queue on.
CREATE TABLE glossary_version (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version bigint NOT NULL
);
INSERT INTO glossary_version (version) VALUES (0);

CREATE FUNCTION glossary_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE glossary_version SET version = version + 1;
    RETURN NULL;
END
$$;
CREATE TRIGGER alias_group_changed AFTER INSERT OR UPDATE OR DELETE ON alias_group
    FOR EACH ROW EXECUTE FUNCTION glossary_changed();
CREATE TRIGGER rejected_alias_changed AFTER INSERT OR UPDATE OR DELETE ON rejected_alias
    FOR EACH ROW EXECUTE FUNCTION glossary_changed();
