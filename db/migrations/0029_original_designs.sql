-- The search log tells questions, too, and the platforms of what was found.
ALTER TABLE search_log
    DROP CONSTRAINT search_log_job_check,
    ADD CONSTRAINT search_log_job_check CHECK (job IN ('find', 'search', 'ask')),
    ADD COLUMN platforms text[] NOT NULL DEFAULT '{}';

-- Korean, Japanese and Chinese are read by single characters and pairs of neighbours, as their words
-- are not told apart by blanks: see docs/decisions/0041-text-without-spaces.md. A word of three
-- characters becomes 1 12 2 23 3; a query is read the same way, so its places tell that it is found
-- as it stands. The ranges are those of engine/text/terms.py. Texts with as many bytes as characters,
-- the most in English, need not be looked at.
CREATE FUNCTION has_unspaced(words text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN octet_length(words) > char_length(words) AND words ~ '[\u3005\u3007\u3041-\u3096\u30A1-\u30FA\u30FC-\u30FE\u3131-\u318E\u3400-\u4DBF\u4E00-\u9FFF\uAC00-\uD7A3\uF900-\uFAFF\U00020000-\U0003FFFF]';

CREATE FUNCTION with_pairs(words text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (
        SELECT string_agg(
                   CASE WHEN NOT here THEN character
                        WHEN coalesce(next_here, false)
                        THEN ' ' || character || ' ' || character || next || ' '
                        ELSE ' ' || character || ' ' END, '' ORDER BY place)
          FROM (SELECT character, place, has_unspaced(character) AS here,
                       lead(character) OVER (ORDER BY place) AS next,
                       has_unspaced(lead(character) OVER (ORDER BY place)) AS next_here
                  FROM unnest(string_to_array(words, NULL)) WITH ORDINALITY
                       AS each (character, place)) AS characters);

CREATE OR REPLACE FUNCTION to_lexemes(language text, words text) RETURNS tsvector
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN to_tsvector(
        ('presagio_' || language)::regconfig,
        CASE language
            WHEN 'spanish'
            THEN regexp_replace(CASE WHEN has_unspaced(words) THEN with_pairs(words) ELSE words END,
                                '([aAuU][cC][iI])[oOóÓ][nN]\M', '\1ones', 'g')
            ELSE CASE WHEN has_unspaced(words) THEN with_pairs(words) ELSE words END
        END);

-- Corpora with none or a few of such texts, the most, are up to date at once, and so are their
-- vectors. Those with many are indexed anew while they are searched, as after any change of rules.
ALTER TABLE corpus ALTER COLUMN index_version SET DEFAULT 3;
DO $$
DECLARE
    one integer;
    said bigint;
BEGIN
    FOR one IN SELECT id FROM corpus WHERE index_version = 2 ORDER BY id FOR UPDATE LOOP
        SELECT coalesce(sum(document_frequency), 0) INTO said
          FROM lexeme WHERE corpus_id = one AND has_unspaced(lexeme);
        CONTINUE WHEN said > 1000;
        IF said > 0 THEN
            UPDATE document SET search_text = search_text  -- its trigger reads the text again
             WHERE corpus_id = one AND has_unspaced(concat(search_text, context_search_text));
        END IF;
        DELETE FROM lexeme
         WHERE corpus_id = one AND document_frequency = 0 AND has_unspaced(lexeme);
        UPDATE embedding_state SET index_version = 3 WHERE corpus_id = one AND index_version = 2;
        UPDATE corpus SET index_version = 3 WHERE id = one;
    END LOOP;
END
$$;
