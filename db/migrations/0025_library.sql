-- Long texts in parts: an item is what is cited, its parts are the documents that are searched.

CREATE TABLE item (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    corpus_id integer NOT NULL REFERENCES corpus ON DELETE CASCADE,
    external_id text NOT NULL,
    digest bigint NOT NULL,       -- of the file's bytes, or of the record
    created_at timestamptz NOT NULL,
    title text,
    author text,
    lang text,
    url text,
    attribution text,             -- "folder/file.pdf"
    platform text,                -- what it was read from: pdf, docx, markdown, web...
    pages integer,
    parts integer NOT NULL,
    UNIQUE (corpus_id, external_id)
);

-- Null in whole documents, which pay nothing for it.
ALTER TABLE document
    ADD COLUMN item_id bigint,
    ADD COLUMN part integer,      -- from 1
    ADD COLUMN heading text,      -- those above the part, outermost first: "Results > Prices"
    ADD COLUMN page integer,      -- where the part begins, from 1
    ADD COLUMN last_page integer;
CREATE INDEX document_item ON document (item_id, part) WHERE item_id IS NOT NULL;

-- Vectors of texts that are gone or have changed, in the tables of all models.
CREATE FUNCTION forget_vectors(of_corpus integer, documents bigint[]) RETURNS void
    LANGUAGE plpgsql AS $$
DECLARE
    model integer;
BEGIN
    FOR model IN SELECT id FROM embedding_model WHERE to_regclass('embedding_' || id) IS NOT NULL LOOP
        EXECUTE format(
            'WITH gone AS (DELETE FROM embedding_%s
                            WHERE corpus_id = $1 AND document_id = ANY ($2) RETURNING 1)
             UPDATE embedding_state SET embedded = embedded - (SELECT count(*) FROM gone)
              WHERE model_id = %s AND corpus_id = $1', model, model)
        USING of_corpus, documents;
    END LOOP;
END
$$;
