-- NULL: the texts of a corpus are in this database. Else they are on a worker of Citus, with postings
-- or without: docs/decisions/0063-placed.md.
ALTER TABLE corpus ADD COLUMN placed_postings boolean;

-- Texts of a placed corpus come back for a moment when they change, with the lexemes that they have.
CREATE OR REPLACE FUNCTION document_index() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' AND NEW.tsv IS NOT NULL THEN
        RETURN NEW;
    END IF;
    NEW.tsv := to_lexemes(
        NEW.language,
        CASE WHEN NEW.context_search_text IS NULL THEN NEW.search_text
             ELSE NEW.search_text || ' ' || NEW.context_search_text END);
    SELECT coalesce(sum(cardinality(positions)), 0), coalesce(max(cardinality(positions)), 0)
      INTO NEW.length, NEW.max_tf
      FROM unnest(NEW.tsv);
    RETURN NEW;
END
$$;
