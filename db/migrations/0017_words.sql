-- Which words texts are found by has changed: handles of one word, initialisms that are another
-- word without their stops, and singulars that no stemmer joined with their plurals.

-- The lexemes of a text that engine.text.clean made searchable. Every text and every query is read
-- by this function. A stemmer that sees no accents takes the end of "manifestaciones" away and not
-- that of "manifestacion", so such a singular, with its accent or without, is read as its plural.
CREATE FUNCTION to_lexemes(language text, words text) RETURNS tsvector
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN to_tsvector(
        ('presagio_' || language)::regconfig,
        CASE language
            WHEN 'spanish'
            THEN regexp_replace(words, '([aAuU][cC][iI])[oOóÓ][nN]\M', '\1ones', 'g')
            ELSE words
        END);

CREATE OR REPLACE FUNCTION document_index() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
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

-- Which version of these rules all texts of a corpus are indexed by. What was stored before keeps
-- its old words until it is indexed anew, in the order of ids; `reindexed_to` is how far that is.
ALTER TABLE corpus
    ADD COLUMN index_version smallint NOT NULL DEFAULT 1,
    ADD COLUMN reindexed_to bigint;
ALTER TABLE corpus ALTER COLUMN index_version SET DEFAULT 2;
UPDATE corpus SET index_version = 2 WHERE documents = 0;
