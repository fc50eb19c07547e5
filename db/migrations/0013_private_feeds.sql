-- What only some chats read is told to no others: a story belongs to the feed that brought it first.

ALTER TABLE story ADD COLUMN feed_id bigint REFERENCES feed ON DELETE SET NULL;
CREATE INDEX story_feed ON story (feed_id);

-- The feed whose headline says what the story says, one that everybody gets before others.
UPDATE story s
   SET feed_id = (SELECT h.feed_id FROM headline h JOIN feed f ON f.id = h.feed_id
                   WHERE h.story_id = s.id AND h.title = s.title
                     AND h.link IS NOT DISTINCT FROM s.link
                   ORDER BY f.configured_url IS NULL, h.id
                   LIMIT 1);

-- Headlines leave stories whose words some of their readers may not know.
UPDATE headline h SET story_id = NULL
  FROM feed f, story s LEFT JOIN feed first ON first.id = s.feed_id
 WHERE f.id = h.feed_id AND s.id = h.story_id AND h.feed_id IS DISTINCT FROM s.feed_id
   AND first.configured_url IS NULL
   AND (f.configured_url IS NOT NULL
        OR EXISTS (SELECT FROM chat_feed reader
                    WHERE reader.feed_id = h.feed_id
                      AND NOT EXISTS (SELECT FROM chat_feed known
                                       WHERE known.feed_id = s.feed_id
                                         AND known.chat_id = reader.chat_id)));

-- The corpus of news keeps what feeds that everybody gets brought, and nothing that a chat's own
-- feed may have written. The number of the corpus is written out: else all partitions are locked.
DO $$
DECLARE
    news integer;
BEGIN
    SELECT id INTO news FROM corpus WHERE name = 'news' AND kind = 'published' FOR UPDATE;
    IF news IS NULL THEN
        RETURN;
    END IF;
    EXECUTE format($sql$
        DELETE FROM document d
         WHERE d.corpus_id = %s
           AND NOT EXISTS (
               SELECT FROM (SELECT h.link FROM headline h JOIN feed f ON f.id = h.feed_id
                             GROUP BY 1 HAVING bool_and(f.configured_url IS NOT NULL)) shared
                WHERE shared.link = d.external_id)
           AND NOT EXISTS (
               SELECT FROM (SELECT h.identity_hash FROM headline h JOIN feed f ON f.id = h.feed_id
                             WHERE h.link IS NULL
                             GROUP BY 1 HAVING bool_and(f.configured_url IS NOT NULL)) shared
                WHERE shared.identity_hash = sha256(convert_to(d.external_id, 'UTF8')))
    $sql$, news);
END
$$;

-- What went too far is read once more.
UPDATE feed SET etag = NULL, last_modified = NULL WHERE configured_url IS NOT NULL;
