-- name: unconfigure(configured_urls)
UPDATE feed SET configured_url = NULL
 WHERE configured_url IS NOT NULL AND configured_url <> ALL ($1::text[])

-- name: configure_known(urls, categories)
UPDATE feed SET category = n.category
  FROM unnest($1::text[], $2::text[]) AS n (url, category)
 WHERE configured_url = n.url AND feed.category IS DISTINCT FROM n.category

-- name: configure_new(urls, categories, now)
-- A feed that has moved to an address that is also in the settings is polled once.
INSERT INTO feed (url, configured_url, category, next_poll_at, created_at)
SELECT url, url, category, $3, $3 FROM unnest($1::text[], $2::text[]) AS n (url, category)
 WHERE NOT EXISTS (SELECT FROM feed WHERE configured_url = n.url)
ON CONFLICT (url) DO UPDATE
   SET configured_url = excluded.configured_url, category = excluded.category,
       created_at = CASE WHEN feed.polled_at IS NULL THEN $3 ELSE feed.created_at END
 WHERE feed.configured_url IS NULL

-- name: claim_due(now, limit, leased_until)
-- What was done in a minute or more is of before the clock was set back, and so is when to go on.
WITH due AS (
    SELECT id FROM feed
     WHERE NOT gone
       AND (next_poll_at <= $1
            OR coalesce(polled_at, created_at) > $1::timestamptz + interval '1 minute')
       AND (leased_until IS NULL OR leased_until <= $1
            OR leased_until > $3::timestamptz + interval '1 minute')
       AND (configured_url IS NOT NULL OR EXISTS (SELECT FROM chat_feed WHERE feed_id = feed.id))
     ORDER BY next_poll_at, id
     LIMIT $2
       FOR NO KEY UPDATE SKIP LOCKED
), claimed AS (
    UPDATE feed SET leased_until = $3 FROM due WHERE feed.id = due.id RETURNING feed.*
)
SELECT * FROM claimed ORDER BY next_poll_at, id

-- name: release_feeds(feed_ids, polled_ats)
UPDATE feed SET leased_until = NULL
  FROM unnest($1::bigint[], $2::timestamptz[]) AS held (id, polled_at)
 WHERE feed.id = held.id AND feed.polled_at IS NOT DISTINCT FROM held.polled_at

-- name: settle_feed(feed_id, claimed_polled_at, title, etag, last_modified, next_poll_at,
--                   polled_at, succeeded_at, failures, failing_since, told_failing, gone, moved_to,
--                   moved_times, error, was_read)
UPDATE feed
   SET title = $3, etag = $4, last_modified = $5, next_poll_at = $6, polled_at = $7,
       succeeded_at = $8, failures = $9, failing_since = $10, told_failing = $11, gone = $12,
       moved_to = $13, moved_times = $14, error = $15,
       read_at = CASE WHEN $16 THEN $7 ELSE read_at END, leased_until = NULL
 WHERE id = $1 AND polled_at IS NOT DISTINCT FROM $2
RETURNING true

-- name: remark_on_feed(feed_id, remark, now)
UPDATE feed SET remark = $2, remarked_at = $3 WHERE id = $1

-- name: lock_moving(feed_id, new_url)
SELECT id, url, configured_url FROM feed WHERE id = $1 OR url = $2 ORDER BY id FOR UPDATE

-- name: move_feed(feed_id, url)
UPDATE feed SET url = $2 WHERE id = $1

-- name: merge_followers(from_feed_id, into_feed_id)
INSERT INTO chat_feed (chat_id, feed_id, category, added_at)
SELECT chat_id, $2, category, added_at FROM chat_feed WHERE feed_id = $1
ON CONFLICT DO NOTHING

-- name: merge_headlines(from_feed_id, into_feed_id)
UPDATE headline h SET feed_id = $2
 WHERE feed_id = $1
   AND NOT EXISTS (SELECT FROM headline known
                    WHERE known.feed_id = $2 AND known.identity_hash = h.identity_hash)

-- name: merge_stories(from_feed_id, into_feed_id)
UPDATE story SET feed_id = $2 WHERE feed_id = $1

-- name: delete_feed(feed_id)
DELETE FROM feed WHERE id = $1 RETURNING configured_url, category

-- name: inherit_configuration(feed_id, configured_url, category)
UPDATE feed SET configured_url = $2, category = $3 WHERE id = $1

-- name: known_headlines(feed_id, identity_hashes, words_hashes, now, seen_before)
WITH again AS (
    UPDATE headline SET last_seen_at = $4
     WHERE feed_id = $1 AND last_seen_at < $5
       AND (identity_hash = ANY ($2::bytea[]) OR words_hash = ANY ($3::bytea[]))
)
SELECT identity_hash, words_hash, title, link, published FROM headline
 WHERE feed_id = $1 AND (identity_hash = ANY ($2::bytea[]) OR words_hash = ANY ($3::bytea[]))

-- name: one_at_a_time(lock_class)
SELECT pg_advisory_xact_lock($1, 0)

-- name: join_alone(lock_class)
-- The planner considers comparing arrays cheap, and would read all stories although an index tells
-- which few to examine. The setting ends with the transaction.
SELECT pg_advisory_xact_lock($1, 0), set_config('enable_seqscan', 'off', true)

-- name: like_stories(link_keys, words, published_from, published_to, feed_id)
-- A feed that everybody gets may join any of them; other feeds only those that each of their
-- readers may read: news of a feed that everybody gets, or that all of them added, too.
WITH alike AS MATERIALIZED (
    SELECT id, feed_id, link_key, words, published FROM story
     WHERE link_key = ANY ($1::text[]) OR words && $2::text[] AND published BETWEEN $3 AND $4
)
SELECT a.id, a.link_key, a.words, a.published
  FROM alike a JOIN feed f ON f.id = $5 LEFT JOIN feed first ON first.id = a.feed_id
 WHERE f.configured_url IS NOT NULL OR first.configured_url IS NOT NULL
    OR NOT EXISTS (SELECT FROM chat_feed reader
                    WHERE reader.feed_id = f.id
                      AND NOT EXISTS (SELECT FROM chat_feed known
                                       WHERE known.feed_id = a.feed_id
                                         AND known.chat_id = reader.chat_id))

-- name: retell_story(story_id, feed_id, title, text, link, link_key, words, language)
-- A story that chats' own feeds told first is retold in the words of a feed that everybody gets.
UPDATE story s
   SET feed_id = f.id, title = $3, text = $4, link = $5, link_key = coalesce($6, s.link_key),
       words = $7, language = $8
  FROM feed f
 WHERE s.id = $1 AND f.id = $2 AND f.configured_url IS NOT NULL
   AND NOT EXISTS (SELECT FROM feed WHERE id = s.feed_id AND configured_url IS NOT NULL)
RETURNING s.id

-- name: forget_finds_of(story_ids)
DELETE FROM find WHERE story_id = ANY ($1::bigint[])

-- name: insert_story(feed_id, title, text, link, link_key, words, language, published,
--                    first_seen_at)
INSERT INTO story (feed_id, title, text, link, link_key, words, language, published, first_seen_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
RETURNING id

-- name: insert_headline(feed_id, identity_hash, words_hash, story_id, title, link, published,
--                       seen_at)
INSERT INTO headline (feed_id, identity_hash, words_hash, story_id, title, link, published,
                      seen_at, last_seen_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
ON CONFLICT DO NOTHING

-- name: add_feed(url, now, title)
-- One that was offered before begins now.
INSERT INTO feed (url, category, next_poll_at, created_at, title) VALUES ($1, NULL, $2, $2, $3)
ON CONFLICT (url) DO UPDATE
   SET gone = false, title = coalesce(feed.title, excluded.title),
       created_at = CASE WHEN feed.polled_at IS NULL THEN $2 ELSE feed.created_at END,
       next_poll_at = CASE WHEN feed.gone THEN excluded.next_poll_at ELSE feed.next_poll_at END
RETURNING *

-- name: follow(chat_id, feed_id, category, added_at)
INSERT INTO chat_feed (chat_id, feed_id, category, added_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (chat_id, feed_id) DO UPDATE SET category = excluded.category

-- name: lock_followed(chat_id, feed_id, url)
SELECT f.id FROM feed f JOIN chat_feed own ON own.feed_id = f.id
 WHERE own.chat_id = $1 AND (f.id = $2 OR f.url = $3)
   FOR UPDATE OF f

-- name: unfollow(chat_id, feed_id)
DELETE FROM chat_feed WHERE chat_id = $1 AND feed_id = $2 RETURNING true

-- name: drop_unfollowed(feed_id)
DELETE FROM feed WHERE id = $1 AND configured_url IS NULL
   AND NOT EXISTS (SELECT FROM chat_feed WHERE feed_id = $1)

-- name: feeds_of_chat(chat_id)
SELECT f.*, own.category AS own_category
  FROM feed f LEFT JOIN chat_feed own ON own.feed_id = f.id AND own.chat_id = $1
 WHERE f.configured_url IS NOT NULL OR own.chat_id IS NOT NULL
 ORDER BY f.url

-- name: feed_health(seen_after)
SELECT f.*,
       (SELECT count(*) FROM chat_feed WHERE feed_id = f.id) AS chats,
       (SELECT count(*) FROM headline
         WHERE feed_id = f.id AND story_id IS NOT NULL AND seen_at > $1) AS headlines
  FROM feed f
 WHERE f.configured_url IS NOT NULL OR EXISTS (SELECT FROM chat_feed WHERE feed_id = f.id)
 ORDER BY f.url

-- name: followers(feed_id)
SELECT s.* FROM feed f
 CROSS JOIN subscriber s
  LEFT JOIN chat_feed own ON own.feed_id = f.id AND own.chat_id = s.chat_id
 WHERE f.id = $1 AND s.chat_active AND coalesce(s.mode, '') <> 'off'
   AND (own.chat_id IS NOT NULL
        OR f.configured_url IS NOT NULL AND s.mode IS NOT NULL
           AND (s.categories = '{}'
                OR lower(f.category) IN (SELECT lower(c) FROM unnest(s.categories) c)))
 ORDER BY s.chat_id

-- name: forget_headlines(last_seen_before, margin)
-- Entries that a feed still contains are kept, or they would be new again.
DELETE FROM headline h USING feed f
 WHERE f.id = h.feed_id AND h.last_seen_at < $1 AND h.last_seen_at < f.read_at - $2::interval

-- name: forget_feeds(before)
DELETE FROM feed f
 WHERE configured_url IS NULL AND coalesce(polled_at, created_at) < $1
   AND NOT EXISTS (SELECT FROM chat_feed WHERE feed_id = f.id)

-- name: stories(story_ids)
SELECT * FROM told_story WHERE id = ANY ($1::bigint[]) ORDER BY id

-- name: unsearched(corpus, first_seen_from, limit, default_corpus)
-- Chosen first and told then: the feeds of a story are looked up only for those within the limit. A
-- feed may tell an old story by its link to readers of another corpus, or after its find is gone.
WITH reader AS MATERIALIZED (
    SELECT DISTINCT c.id AS chat_id FROM chat c JOIN subscription w ON w.chat_id = c.id
     WHERE w.mode <> 'off' AND c.active AND (c.corpus = $1 OR c.corpus IS NULL AND $4 = $1)
), recent AS (
    SELECT id FROM story WHERE first_seen_at >= $2
     UNION
    SELECT story_id FROM headline WHERE last_seen_at >= $2 AND seen_at >= $2
), chosen AS MATERIALIZED (
    SELECT s.id FROM story s JOIN recent USING (id)
     WHERE NOT EXISTS (SELECT FROM find WHERE story_id = s.id AND corpus = $1)
       AND ($4::text IS NULL OR EXISTS (
            SELECT FROM headline h JOIN feed f ON f.id = h.feed_id
             WHERE h.story_id = s.id
               AND (f.configured_url IS NOT NULL AND EXISTS (SELECT FROM reader)
                    OR EXISTS (SELECT FROM chat_feed own JOIN reader USING (chat_id)
                                WHERE own.feed_id = f.id AND own.added_at <= h.seen_at))))
     ORDER BY s.first_seen_at, s.id
     LIMIT $3
)
SELECT t.* FROM chosen JOIN told_story t USING (id) ORDER BY t.first_seen_at, t.id

-- name: changes
SELECT last_value FROM news_change

-- name: forget_stories(before)
DELETE FROM story WHERE first_seen_at < $1

-- name: keep_find(story_id, corpus, state, coverage, best, prophecy, found_at, title, text)
INSERT INTO find (story_id, corpus, state, coverage, best, prophecy, found_at)
SELECT id, $2, $3, $4, $5, $6::text::json, $7 FROM story
 WHERE id = $1 AND title = $8 AND text = $9 FOR SHARE
ON CONFLICT (story_id, corpus) DO UPDATE
   SET state = excluded.state, coverage = excluded.coverage, best = excluded.best,
       prophecy = excluded.prophecy, found_at = excluded.found_at, woke = false
 WHERE excluded.state = 'judged'
    OR find.state NOT IN ('judged', excluded.state) AND excluded.state <> 'promising'
RETURNING id

-- name: find_id(story_id, corpus)
SELECT id FROM find WHERE story_id = $1 AND corpus = $2

-- name: waiting(corpora, found_from, limit)
WITH chosen AS MATERIALIZED (
    SELECT id, story_id, corpus, coverage FROM find
     WHERE state = '{state}' AND corpus = ANY ($1::text[]) AND found_at >= $2
     ORDER BY coverage DESC, id
     LIMIT $3
)
SELECT s.*, f.corpus, f.coverage
  FROM chosen f JOIN told_story s ON s.id = f.story_id
 ORDER BY f.coverage DESC, f.id

-- name: give_up_waiting(found_before, below)
UPDATE find SET state = 'dull'
 WHERE state = 'promising' AND found_at < $1 AND coverage < $2

-- name: finds_for_chat(chat_id, corpus, found_from)
-- The story in the words of the chat's own feeds. They may tell it weeks after a feed that the chat
-- does not have: what was found for it counts from then on.
SELECT f.id AS find_id, f.corpus, f.prophecy::text AS prophecy, s.id, s.text,
       s.language, v.first_seen_at, v.title, v.link, v.published, v.source, v.categories,
       s.words, s.link_key, s.published AS appeared_at
  FROM find f
  JOIN story s ON s.id = f.story_id
 CROSS JOIN LATERAL (
       SELECT (array_agg(title ORDER BY id))[1] AS title,
              (array_agg(link ORDER BY id))[1] AS link,
              (array_agg(source ORDER BY id))[1] AS source,
              min(published) AS published, min(seen_at) AS first_seen_at,
              coalesce(array_agg(DISTINCT category ORDER BY category)
                           FILTER (WHERE category IS NOT NULL), '{}') AS categories
         FROM visible_headline WHERE chat_id = $1 AND story_id = s.id
       HAVING count(*) > 0) v
 WHERE f.corpus = $2 AND greatest(f.found_at, v.first_seen_at) >= $3
   AND (f.found_at >= $3 OR f.story_id IN (
            SELECT story_id FROM headline WHERE last_seen_at >= $3 AND seen_at >= $3))
   AND f.state IN ('judged', 'unjudged') AND f.prophecy IS NOT NULL
 ORDER BY f.found_at, f.id

-- name: postable_finds(chat_ids, corpora, least_best, found_from)
-- The same for many chats, without what may not be posted in them. Chats share most finds: a
-- prophecy is in the first row of its find alone.
SELECT w.chat_id, f.id AS find_id, f.corpus,
       CASE WHEN row_number() OVER (PARTITION BY f.id ORDER BY w.chat_id) = 1
            THEN f.prophecy::text END AS prophecy,
       s.id, s.text, s.language, v.first_seen_at, v.title, v.link, v.published, v.source,
       v.categories, s.words, s.link_key, s.published AS appeared_at
  FROM unnest($1::bigint[], $2::text[]) AS w (chat_id, corpus)
  JOIN find f ON f.corpus = w.corpus
  JOIN story s ON s.id = f.story_id
 CROSS JOIN LATERAL (
       SELECT (array_agg(title ORDER BY id))[1] AS title,
              (array_agg(link ORDER BY id))[1] AS link,
              (array_agg(source ORDER BY id))[1] AS source,
              min(published) AS published, min(seen_at) AS first_seen_at,
              coalesce(array_agg(DISTINCT category ORDER BY category)
                           FILTER (WHERE category IS NOT NULL), '{}') AS categories
         FROM visible_headline h WHERE h.chat_id = w.chat_id AND h.story_id = s.id
       HAVING count(*) > 0) v
 WHERE greatest(f.found_at, v.first_seen_at) >= $4 AND f.prophecy IS NOT NULL
   AND (f.found_at >= $4 OR f.story_id IN (
            SELECT story_id FROM headline WHERE last_seen_at >= $4 AND seen_at >= $4))
   AND (f.state = 'unjudged' OR f.state = 'judged' AND f.best >= $3::integer)
   AND NOT EXISTS (SELECT FROM posted p WHERE p.chat_id = w.chat_id AND p.story_id = s.id)
 ORDER BY w.chat_id, f.found_at, f.id

-- name: shared_finds(corpora, found_from)
-- For chats without feeds of their own: the story in the words of the feeds of the settings.
SELECT f.id AS find_id, f.corpus, f.prophecy::text AS prophecy, s.id, s.text,
       s.language, v.first_seen_at, v.title, v.link, v.published, v.source, v.categories,
       s.words, s.link_key, s.published AS appeared_at
  FROM find f
  JOIN story s ON s.id = f.story_id
 CROSS JOIN LATERAL (
       SELECT (array_agg(h.title ORDER BY h.id))[1] AS title,
              (array_agg(h.link ORDER BY h.id))[1] AS link,
              (array_agg(feed.title ORDER BY h.id))[1] AS source,
              min(h.published) AS published, min(h.seen_at) AS first_seen_at,
              coalesce(array_agg(DISTINCT feed.category ORDER BY feed.category)
                           FILTER (WHERE feed.category IS NOT NULL), '{}') AS categories
         FROM headline h JOIN feed ON feed.id = h.feed_id
        WHERE h.story_id = s.id AND feed.configured_url IS NOT NULL
       HAVING count(*) > 0) v
 WHERE f.corpus = ANY ($1::text[]) AND f.found_at >= $2 AND f.state IN ('judged', 'unjudged')
   AND f.prophecy IS NOT NULL
 ORDER BY f.found_at, f.id

-- name: tally(chat_id, corpus, first_seen_from)
SELECT f.state, count(*) AS stories
  FROM story s LEFT JOIN find f ON f.story_id = s.id AND f.corpus = $2
 WHERE s.first_seen_at >= $3
   AND EXISTS (SELECT FROM visible_headline WHERE chat_id = $1 AND story_id = s.id)
 GROUP BY f.state

-- name: quiet_days(chat_ids, topics, corpora, found_from)
-- Whether anything that the chat can see was judged since then, or was to be; and whether its last
-- daily post has said that nothing was.
SELECT judged, waits,
       coalesce((SELECT d.content ->> 'judged' = 'false' FROM delivery d
                  WHERE d.chat_id = w.chat_id AND starts_with(d.key, 'daily:')
                    AND split_part(d.key, ':', 4) = w.topic
                  ORDER BY d.id DESC LIMIT 1), false) AS told
  FROM unnest($1::bigint[], $2::text[], $3::text[])
       WITH ORDINALITY AS w (chat_id, topic, corpus, number)
 CROSS JOIN LATERAL (
       SELECT coalesce(bool_or(f.state = 'judged'), false) AS judged,
              coalesce(bool_or(f.state IN ('promising', 'unjudged')), false) AS waits
         FROM find f
        WHERE f.corpus = w.corpus
          AND (f.found_at >= $4 OR f.story_id IN (
                   SELECT story_id FROM headline WHERE last_seen_at >= $4 AND seen_at >= $4))
          AND EXISTS (SELECT FROM visible_headline v
                       WHERE v.chat_id = w.chat_id AND v.story_id = f.story_id
                         AND greatest(f.found_at, v.seen_at) >= $4)) AS seen
 ORDER BY w.number

-- name: forget_finds(before)
DELETE FROM find WHERE found_at < $1

-- name: share(url, category, now)
INSERT INTO shared_feed (url, category, added_at) VALUES ($1, $2, $3)
ON CONFLICT (url) DO UPDATE SET category = excluded.category
RETURNING added_at = $3

-- name: unshare(url)
DELETE FROM shared_feed WHERE url = $1 RETURNING true

-- name: shared
SELECT url, category FROM shared_feed ORDER BY url

-- name: offer(urls, now)
INSERT INTO feed (url, next_poll_at, created_at)
SELECT url, $2, $2 FROM unnest($1::text[]) AS offered (url)
ON CONFLICT DO NOTHING

-- name: offered(urls)
SELECT id, url FROM feed WHERE url = ANY ($1::text[])

-- name: offered_url(feed_id)
SELECT url FROM feed WHERE id = $1
