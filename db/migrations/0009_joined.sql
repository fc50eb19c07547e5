-- A post that goes on from another one (flag 512) is searched there: it has no lexemes of its own.
CREATE OR REPLACE FUNCTION document_index() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' AND NEW.tsv IS NOT NULL THEN
        RETURN NEW;
    END IF;
    NEW.tsv := to_lexemes(
        NEW.language,
        CASE WHEN NEW.flags & 512 <> 0 THEN ''
             WHEN NEW.context_search_text IS NULL THEN NEW.search_text
             ELSE NEW.search_text || ' ' || NEW.context_search_text END);
    SELECT coalesce(sum(cardinality(positions)), 0), coalesce(max(cardinality(positions)), 0)
      INTO NEW.length, NEW.max_tf
      FROM unnest(NEW.tsv);
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER document_index
    BEFORE INSERT OR UPDATE OF search_text, context_search_text, language, flags ON document
    FOR EACH ROW EXECUTE FUNCTION document_index();

ALTER TABLE corpus ALTER COLUMN index_version SET DEFAULT 4;

-- What a posted text was to its headline (engine.search.HitKind); NULL: nobody judged, or before this.
ALTER TABLE posted ADD COLUMN kind text;
