-- How far the vectors of a corpus are: the share of it that has been embedded decides whether a
-- search by meaning is an honest one. Counted where vectors are stored; to count them for each
-- search would take longer than to search.
CREATE TABLE embedding_state (
    model_id integer NOT NULL REFERENCES embedding_model ON DELETE CASCADE,
    corpus_id integer NOT NULL REFERENCES corpus ON DELETE CASCADE,
    embedded bigint NOT NULL DEFAULT 0,     -- documents, those included that say nothing
    generation integer NOT NULL DEFAULT 0,  -- a higher one: all vectors are to be made anew
    -- Of vectors that depend on the corpus: the share of documents that hold each of its most
    -- frequent lexemes, when this generation began.
    shares jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (model_id, corpus_id)
);

DO $$
DECLARE
    model integer;
BEGIN
    FOR model IN SELECT id FROM embedding_model WHERE to_regclass('embedding_' || id) IS NOT NULL LOOP
        EXECUTE format(
            'INSERT INTO embedding_state (model_id, corpus_id, embedded)
             SELECT %s, corpus_id, count(*) FROM embedding_%s GROUP BY corpus_id', model, model);
    END LOOP;
END
$$;
