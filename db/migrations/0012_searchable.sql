-- Texts without a lexeme, such as posts that go on from another one, are no part of the average length
-- that BM25 compares lengths with.
ALTER TABLE corpus ADD COLUMN empty bigint NOT NULL DEFAULT 0;

DO $$
DECLARE
    number integer;
BEGIN
    -- One table after another: those of a placed corpus are no partitions.
    FOR number IN SELECT id FROM corpus ORDER BY id LOOP
        EXECUTE format(
            'UPDATE corpus SET empty = (SELECT count(*) FROM document_%1$s WHERE length = 0)
              WHERE id = %1$s', number);
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION document_statistics() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO lexeme AS known (corpus_id, lexeme, document_frequency, max_tf)
        SELECT d.corpus_id, u.lexeme, count(*), max(cardinality(u.positions))
          FROM new_rows d, unnest(d.tsv) u
         GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (corpus_id, lexeme) DO UPDATE
           SET document_frequency = known.document_frequency + excluded.document_frequency,
               max_tf = greatest(known.max_tf, excluded.max_tf);
        INSERT INTO corpus_language AS known (corpus_id, language, documents)
        SELECT corpus_id, language, count(*) FROM new_rows GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (corpus_id, language) DO UPDATE
           SET documents = known.documents + excluded.documents;
        UPDATE corpus c
           SET documents = c.documents + n.documents, tokens = c.tokens + n.tokens,
               empty = c.empty + n.empty
          FROM (SELECT corpus_id, count(*) AS documents, sum(length) AS tokens,
                       count(*) FILTER (WHERE length = 0) AS empty
                  FROM new_rows GROUP BY 1) n
         WHERE c.id = n.corpus_id;
    ELSIF TG_OP = 'DELETE' THEN
        UPDATE lexeme known SET document_frequency = known.document_frequency - gone.df
          FROM (SELECT d.corpus_id, u.lexeme, count(*) AS df
                  FROM old_rows d, unnest(d.tsv) u GROUP BY 1, 2) gone
         WHERE known.corpus_id = gone.corpus_id AND known.lexeme = gone.lexeme;
        UPDATE corpus_language known SET documents = known.documents - gone.documents
          FROM (SELECT corpus_id, language, count(*) AS documents
                  FROM old_rows GROUP BY 1, 2) gone
         WHERE known.corpus_id = gone.corpus_id AND known.language = gone.language;
        UPDATE corpus c
           SET documents = c.documents - n.documents, tokens = c.tokens - n.tokens,
               empty = c.empty - n.empty
          FROM (SELECT corpus_id, count(*) AS documents, sum(length) AS tokens,
                       count(*) FILTER (WHERE length = 0) AS empty
                  FROM old_rows GROUP BY 1) n
         WHERE c.id = n.corpus_id;
    ELSE
        INSERT INTO lexeme AS known (corpus_id, lexeme, document_frequency, max_tf)
        SELECT corpus_id, lexeme, sum(df), max(tf)
          FROM (SELECT d.corpus_id, u.lexeme, 1 AS df, cardinality(u.positions) AS tf
                  FROM new_rows d, unnest(d.tsv) u
                UNION ALL
                SELECT d.corpus_id, u.lexeme, -1, 0 FROM old_rows d, unnest(d.tsv) u) change
         GROUP BY 1, 2 HAVING sum(df) <> 0 OR max(tf) > 1 ORDER BY 1, 2
        ON CONFLICT (corpus_id, lexeme) DO UPDATE
           SET document_frequency = known.document_frequency + excluded.document_frequency,
               max_tf = greatest(known.max_tf, excluded.max_tf);
        INSERT INTO corpus_language AS known (corpus_id, language, documents)
        SELECT corpus_id, language, sum(n)
          FROM (SELECT corpus_id, language, 1 AS n FROM new_rows
                UNION ALL SELECT corpus_id, language, -1 FROM old_rows) change
         GROUP BY 1, 2 HAVING sum(n) <> 0 ORDER BY 1, 2
        ON CONFLICT (corpus_id, language) DO UPDATE
           SET documents = known.documents + excluded.documents;
        UPDATE corpus c SET tokens = c.tokens + n.tokens, empty = c.empty + n.empty
          FROM (SELECT corpus_id, sum(length) AS tokens, sum(empty) AS empty
                  FROM (SELECT corpus_id, length, (length = 0)::integer AS empty FROM new_rows
                        UNION ALL
                        SELECT corpus_id, -length, -(length = 0)::integer FROM old_rows) change
                 GROUP BY 1) n
         WHERE c.id = n.corpus_id AND (n.tokens <> 0 OR n.empty <> 0);
    END IF;
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM corpus_language WHERE documents <= 0;
    END IF;
    RETURN NULL;
END
$$;

-- When a chat could first see a story, which may be long after something was found for it.
CREATE OR REPLACE VIEW visible_headline AS
SELECT c.id AS chat_id, h.id, h.story_id, h.title, h.link, h.published, f.title AS source,
       coalesce(own.category, f.category) AS category, h.seen_at
  FROM chat c
 CROSS JOIN headline h
  JOIN feed f ON f.id = h.feed_id
  LEFT JOIN chat_feed own ON own.feed_id = h.feed_id AND own.chat_id = c.id
 WHERE f.configured_url IS NOT NULL OR own.added_at <= h.seen_at;
