-- name: subscribe(chat_id, mode, at, weekdays, best, threshold, unjudged, unjudged_coverage,
--                 say_nothing_found, thread, must, must_not, languages, categories, since, topic,
--                 feeds, silent, compose)
INSERT INTO subscription (chat_id, mode, at, weekdays, best, threshold, unjudged,
                          unjudged_coverage, say_nothing_found, thread, must, must_not,
                          languages, categories, since, topic, feeds, silent, compose, timed_from)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $15)
ON CONFLICT (chat_id, topic) DO UPDATE
   SET mode = excluded.mode, at = excluded.at, weekdays = excluded.weekdays,
       best = excluded.best, threshold = excluded.threshold, unjudged = excluded.unjudged,
       unjudged_coverage = excluded.unjudged_coverage,
       say_nothing_found = excluded.say_nothing_found, thread = excluded.thread,
       must = excluded.must, must_not = excluded.must_not, languages = excluded.languages,
       categories = excluded.categories, feeds = excluded.feeds, silent = excluded.silent,
       compose = excluded.compose,
       due_at = '-infinity', revision = subscription.revision + 1,
       since = CASE WHEN subscription.mode = excluded.mode
                     AND (excluded.mode = 'daily' OR subscription.weekdays = excluded.weekdays)
                    THEN subscription.since ELSE excluded.since END,
       timed_from = CASE WHEN subscription.mode = excluded.mode AND subscription.at = excluded.at
                          AND subscription.weekdays = excluded.weekdays
                         THEN subscription.timed_from ELSE excluded.timed_from END
RETURNING since

-- name: give_up_owed(chat_id, now, error, topic)
UPDATE delivery SET state = 'failed', error = $3, settled_at = $2, lease = NULL
 WHERE chat_id = $1 AND state = 'owed' AND (leased_until IS NULL OR leased_until <= $2)
   AND NOT starts_with(key, 'trouble:')
   AND CASE WHEN $4 = ''
            THEN coalesce(thread, '') NOT IN (SELECT topic FROM subscription
                                               WHERE chat_id = $1 AND topic <> '')
            ELSE thread = $4 END

-- name: subscription(chat_id, topic)
SELECT * FROM subscribed WHERE chat_id = $1 AND topic = $2

-- name: active
SELECT * FROM subscribed WHERE mode <> 'off' AND chat_active ORDER BY chat_id, topic

-- name: corpora(default_corpus)
SELECT DISTINCT coalesce(chat_corpus, $1) AS corpus FROM subscribed
 WHERE mode <> 'off' AND chat_active ORDER BY 1

-- name: wake(now, corpora)
-- Those that are told at once, if something was found in their corpus or, of chats that name none,
-- in any. A process that looked at them before, and was frozen, must not move them past it.
UPDATE subscription s SET due_at = least(s.due_at, $1), revision = s.revision + 1
  FROM chat c
 WHERE c.id = s.chat_id AND c.active AND s.mode = 'instant'
   AND (c.corpus IS NULL OR c.corpus = ANY ($2::text[]))

-- name: waking
UPDATE find SET woke = true WHERE NOT woke AND state IN ('judged', 'unjudged') RETURNING corpus

-- name: due(now, limit)
SELECT s.*, w.revision, decided.local_date AS last_decided,
       EXISTS (SELECT FROM chat_feed own WHERE own.chat_id = s.chat_id) AS has_feeds
  FROM (SELECT w.chat_id, w.topic, w.due_at, w.revision
          FROM subscription w JOIN chat c ON c.id = w.chat_id
         WHERE w.mode <> 'off' AND w.due_at <= $1 AND c.active
         ORDER BY w.due_at, w.chat_id, w.topic
         LIMIT $2) w
  JOIN subscribed s USING (chat_id, topic)
  LEFT JOIN LATERAL (
       SELECT local_date FROM digest d
        WHERE d.chat_id = w.chat_id AND d.topic = w.topic
        ORDER BY local_date DESC LIMIT 1) decided ON true
 ORDER BY w.due_at, w.chat_id, w.topic

-- name: look_again(chat_ids, topics, revisions, due_at)
UPDATE subscription s SET due_at = n.due_at
  FROM unnest($1::bigint[], $2::text[], $3::integer[], $4::timestamptz[])
       AS n (chat_id, topic, revision, due_at)
 WHERE s.chat_id = n.chat_id AND s.topic = n.topic AND s.revision = n.revision

-- name: posted(chat_ids, posted_from)
SELECT p.chat_id, p.story_id, p.corpus, p.external_id, p.text, p.posted_at, p.kind, p.hits,
       coalesce(s.text, '') AS headline, coalesce(s.words, '{}') AS words, s.link_key,
       s.published AS appeared_at
  FROM posted p LEFT JOIN story s ON s.id = p.story_id
 WHERE p.chat_id = ANY ($1::bigint[]) AND p.posted_at >= $2
 ORDER BY p.chat_id, p.posted_at, p.answer_id

-- name: lock_chats(chat_ids)
-- In one order, so that no two wait for each other.
SELECT id FROM chat WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE

-- name: wanted(chat_ids, topics, modes)
-- The numbers of those that may be told; a mode of NULL is any.
SELECT w.number
  FROM unnest($1::bigint[], $2::text[], $3::text[])
       WITH ORDINALITY AS w (chat_id, topic, mode, number)
  JOIN chat c ON c.id = w.chat_id
  LEFT JOIN subscription s ON s.chat_id = w.chat_id AND s.topic = w.topic
 WHERE c.active AND (w.mode IS NULL OR w.mode = s.mode)

-- name: repeated(numbers, chat_ids, story_ids, corpora, external_ids, posted_after)
SELECT DISTINCT w.number
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[])
       AS w (number, chat_id, story_id, corpus, external_id)
 WHERE EXISTS (SELECT FROM posted p WHERE p.chat_id = w.chat_id AND p.story_id = w.story_id)
    OR EXISTS (SELECT FROM posted p
                WHERE p.chat_id = w.chat_id AND p.posted_at > $6
                  AND p.corpus = w.corpus AND p.external_id = w.external_id)

-- name: used_keys(keys)
SELECT key FROM delivery WHERE key = ANY ($1::text[])

-- name: close_dates(chat_ids, topics, local_dates, decided_at)
INSERT INTO digest (chat_id, topic, local_date, decided_at)
SELECT n.chat_id, n.topic, n.local_date, $4
  FROM unnest($1::bigint[], $2::text[], $3::date[]) AS n (chat_id, topic, local_date)
ON CONFLICT DO NOTHING RETURNING chat_id, topic, local_date

-- name: owe(key, chat_id, thread, content, now, silent)
INSERT INTO delivery (key, chat_id, thread, content, next_attempt_at, created_at, silent)
VALUES ($1, $2, $3, $4::text::json, $5, $5, $6)
ON CONFLICT (key) DO NOTHING RETURNING id

-- name: owe_trouble(key, chat_id, prefix, content, now, told_since)
INSERT INTO delivery (key, chat_id, content, next_attempt_at, created_at)
SELECT $1, $2, $4::text::json, $5, $5
 WHERE NOT EXISTS (SELECT FROM delivery
                    WHERE chat_id = $2 AND starts_with(key, $3) AND created_at > $6)
ON CONFLICT (key) DO NOTHING RETURNING id

-- name: post(chat_id, story_id, delivery_id, answer_id, corpus, external_id, text, posted_at, kind,
--             hits)
INSERT INTO posted (chat_id, story_id, delivery_id, answer_id, corpus, external_id, text, posted_at,
                    kind, hits)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)

-- name: lease(now, platforms, begun_after, limit, leased_until)
-- The conditions on d are checked again, in case another process has leased it meanwhile.
-- What began in a minute or more, or was owed then, is of before the clock was set back.
WITH ready AS (
    SELECT d.id FROM delivery d JOIN chat c ON c.id = d.chat_id
     WHERE d.state = 'owed'
       AND (d.next_attempt_at <= $1
            OR d.attempts = 0 AND d.created_at > $1::timestamptz + interval '1 minute')
       AND (d.leased_until IS NULL OR d.leased_until <= $1)
       AND c.active AND c.platform = ANY ($2::text[])
       AND NOT EXISTS (SELECT FROM delivery other
                        WHERE other.chat_id = d.chat_id AND other.state = 'owed'
                          AND other.id <> d.id
                          AND (other.id < d.id OR other.leased_until > $1))
       AND NOT EXISTS (SELECT FROM delivery other
                        WHERE other.chat_id = d.chat_id AND other.begun_at > $3
                          AND other.begun_at <= $1::timestamptz + interval '1 minute')
     ORDER BY d.next_attempt_at, d.id
     LIMIT $4
       FOR NO KEY UPDATE OF d SKIP LOCKED
), leased AS (
    UPDATE delivery d SET leased_until = $5, lease = nextval('lease_number')
      FROM ready WHERE d.id = ready.id
    RETURNING d.*
)
SELECT l.id, l.key, l.thread AS delivery_thread, l.content::text AS content, l.attempts,
       l.begun_at, l.created_at, l.lease, l.leased_until, l.silent AS delivery_silent,
       ARRAY (SELECT p.answer_id FROM posted p
               WHERE p.delivery_id = l.id AND p.answer_id IS NOT NULL
               ORDER BY p.answer_id) AS answers,
       s.*
  FROM leased l JOIN subscriber s USING (chat_id)
 ORDER BY l.next_attempt_at, l.id

-- name: begin(delivery_id, lease, now)
UPDATE delivery SET begun_at = $3, attempts = attempts + 1
 WHERE id = $1 AND lease = $2 AND state = 'owed' AND leased_until > $3
RETURNING true

-- name: sent(delivery_id, lease, message_id, now)
UPDATE delivery SET state = 'sent', message_id = $3, settled_at = $4, error = NULL,
                    leased_until = NULL, lease = NULL
 WHERE id = $1 AND lease = $2 AND state = 'owed'
RETURNING true

-- name: retry(delivery_id, lease, next_attempt_at, error, not_begun)
UPDATE delivery SET next_attempt_at = $3, error = $4, leased_until = NULL, lease = NULL,
                    begun_at = CASE WHEN $5 THEN NULL ELSE begun_at END
 WHERE id = $1 AND lease = $2 AND state = 'owed'
RETURNING true

-- name: release(delivery_id, lease)
UPDATE delivery SET leased_until = NULL, lease = NULL
 WHERE id = $1 AND lease = $2 AND state = 'owed'
RETURNING true

-- name: fail(delivery_id, lease, error, now)
UPDATE delivery SET state = 'failed', error = $3, settled_at = $4, leased_until = NULL, lease = NULL
 WHERE id = $1 AND lease = $2 AND state = 'owed'
RETURNING true

-- name: history(chat_id, limit)
SELECT key, state, content::text AS content, created_at, settled_at, error FROM delivery
 WHERE chat_id = $1 ORDER BY id DESC LIMIT $2

-- name: public_posts(corpora, external_id, limit)
-- A headline that only the feed of a chat brought is that chat's own.
WITH once AS (
    SELECT p.story_id, p.corpus, p.external_id, min(d.settled_at) AS posted_at
      FROM posted p JOIN delivery d ON d.id = p.delivery_id
     WHERE d.state = 'sent' AND p.corpus = ANY ($1::text[])
       AND ($2::text IS NULL OR p.external_id = $2)
     GROUP BY p.story_id, p.corpus, p.external_id
)
SELECT o.*, s.text AS headline, s.published, h.title, h.link, h.source
  FROM once o
  JOIN story s ON s.id = o.story_id
 CROSS JOIN LATERAL (
       SELECT h.title, h.link, f.title AS source
         FROM headline h JOIN feed f ON f.id = h.feed_id
        WHERE h.story_id = o.story_id AND f.configured_url IS NOT NULL
        ORDER BY h.id LIMIT 1) h
 ORDER BY o.posted_at DESC, o.story_id, o.corpus, o.external_id
 LIMIT $3

-- name: outbox_health(failed_since)
SELECT count(*) FILTER (WHERE state = 'owed') AS owed,
       min(created_at) FILTER (WHERE state = 'owed') AS oldest_owed_at,
       count(*) FILTER (WHERE state = 'owed' AND error IS NOT NULL) AS retried,
       count(*) FILTER (WHERE state = 'failed') AS failed,
       (array_agg(error ORDER BY coalesce(settled_at, next_attempt_at) DESC)
           FILTER (WHERE error IS NOT NULL))[1] AS last_error
  FROM delivery WHERE state = 'owed' OR state = 'failed' AND settled_at >= $1

-- name: give_up_gone(now, created_before)
UPDATE delivery d SET state = 'failed', error = 'the chat is gone', settled_at = $1, lease = NULL
  FROM chat c
 WHERE c.id = d.chat_id AND NOT c.active AND d.state = 'owed' AND d.created_at < $2

-- name: forget_deliveries(before)
DELETE FROM delivery WHERE state <> 'owed' AND settled_at < $1

-- name: forget_posted(before)
DELETE FROM posted WHERE posted_at < $1

-- name: forget_dates(before)
DELETE FROM digest WHERE local_date < $1

-- name: count_outcome(job, day, outcome, now, error)
INSERT INTO job_outcome AS known (job, day, outcome, times, last_at, last_error)
VALUES ($1, $2, $3, 1, $4, $5)
ON CONFLICT (job, day, outcome) DO UPDATE
   SET times = known.times + 1, last_at = greatest(known.last_at, excluded.last_at),
       last_error = coalesce(excluded.last_error, known.last_error)

-- name: outcomes(since)
SELECT job, outcome, sum(times)::integer AS times, max(last_at) AS last_at,
       (array_agg(last_error ORDER BY day DESC) FILTER (WHERE last_error IS NOT NULL))[1]
           AS last_error
  FROM job_outcome WHERE day >= $1
 GROUP BY job, outcome ORDER BY job, outcome

-- name: outcome_totals
SELECT job, outcome, sum(times)::bigint AS times FROM job_outcome GROUP BY job, outcome

-- Adds what is old to one row before all days, so that the totals never fall: a monitor would take
-- that for a restart.
-- name: forget_outcomes(before)
WITH old AS (
    DELETE FROM job_outcome WHERE day < $1 AND day > '-infinity' RETURNING *
)
INSERT INTO job_outcome AS known (job, day, outcome, times, last_at)
SELECT job, '-infinity', outcome, sum(times), max(last_at) FROM old GROUP BY job, outcome
ON CONFLICT (job, day, outcome) DO UPDATE
   SET times = known.times + excluded.times, last_at = excluded.last_at
