-- Postings of corpora of long texts: one row for each lexeme of each document, in a table a corpus
-- that is made when the first of them is stored. See docs/decisions/0030-postings.md.

-- The highest id of the documents that have postings. NULL: the corpus keeps none;
-- 9223372036854775807: all have them, whatever comes.
ALTER TABLE corpus ADD COLUMN postings_to bigint;

-- Postings follow every statement. The corpus is locked as by those who fill its table, so that a
-- document gets its postings either from them or from here.
CREATE FUNCTION document_postings() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kept record;
BEGIN
    IF TG_OP <> 'INSERT' THEN
        FOR kept IN
            SELECT c.id FROM corpus c
             WHERE c.postings_to IS NOT NULL
               AND EXISTS (SELECT FROM old_rows o WHERE o.corpus_id = c.id)
             ORDER BY c.id FOR NO KEY UPDATE
        LOOP
            EXECUTE format(
                'DELETE FROM postings_%1$s p USING old_rows o, unnest(o.tsv) u
                  WHERE o.corpus_id = %1$s AND p.lexeme = u.lexeme AND p.document = o.id'
                || CASE TG_OP WHEN 'UPDATE' THEN
                ' AND NOT EXISTS (
                      SELECT FROM new_rows n
                       WHERE n.corpus_id = o.corpus_id AND n.id = o.id
                         AND n.length = o.length AND n.tsv = o.tsv)' ELSE '' END, kept.id);
        END LOOP;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        FOR kept IN
            SELECT c.id, c.postings_to FROM corpus c
             WHERE c.postings_to IS NOT NULL
               AND EXISTS (SELECT FROM new_rows n WHERE n.corpus_id = c.id)
             ORDER BY c.id FOR NO KEY UPDATE
        LOOP
            EXECUTE format(
                'INSERT INTO postings_%1$s (document, length, tf, lexeme)
                 SELECT n.id, n.length, cardinality(u.positions), u.lexeme
                   FROM new_rows n, unnest(n.tsv) u
                  WHERE n.corpus_id = %1$s AND n.id <= %2$s'
                || CASE TG_OP WHEN 'UPDATE' THEN
                ' AND NOT EXISTS (
                      SELECT FROM old_rows o
                       WHERE o.corpus_id = n.corpus_id AND o.id = n.id
                         AND o.length = n.length AND o.tsv = n.tsv)' ELSE '' END
                -- In the order of the index: a batch says most of its lexemes more than once.
                || ' ORDER BY u.lexeme COLLATE "C", n.id', kept.id, kept.postings_to);
        END LOOP;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER document_postings_inserted AFTER INSERT ON document
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION document_postings();
CREATE TRIGGER document_postings_updated AFTER UPDATE ON document
    REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION document_postings();
CREATE TRIGGER document_postings_deleted AFTER DELETE ON document
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION document_postings();
