-- name: keep_question(chat_id, thread, asked_at, text, corpus, event_id, person, follows)
INSERT INTO question (chat_id, thread, asked_at, text, corpus, event_id, person, follows)
SELECT $1::bigint, $2, $3::timestamptz, $4, $5, $6, $7, $8::bigint
  FROM set_config('synchronous_commit', 'off', true)

-- name: earlier_questions(chat_id, thread, asked_from, limit, corpus, person, platform, quoted_id,
--                         quoted_event, event_id)
-- The question that another follows, and those which that one followed, newest first. It is that of
-- the message replied to, else the person's own last one; where replies make a thread, the other
-- way round.
WITH RECURSIVE known AS (
    SELECT id, text, follows,
           person = $6 AND thread IS NOT DISTINCT FROM $2 AND asked_at >= $3 AS own,
           event_id = $9 OR EXISTS (
               SELECT FROM turn
                WHERE turn.platform = $7 AND turn.event_id = question.event_id
                  AND $8 = ANY (string_to_array(turn.answered_by, ' '))) AS quoted
      FROM question
     WHERE chat_id = $1 AND corpus = $5 AND event_id <> $10  -- the same before it was edited
), chain AS (
    (SELECT id, text, follows, 1 AS number FROM known
      WHERE own OR quoted
      ORDER BY (CASE WHEN $2 = $8 THEN own ELSE quoted END) IS TRUE DESC, id DESC
      LIMIT 1)
    UNION ALL
    SELECT q.id, q.text, q.follows, number + 1
      FROM chain JOIN question q ON q.id = chain.follows AND q.chat_id = $1
     WHERE number < $4::integer
)
SELECT id, text FROM chain ORDER BY number

-- name: forget_questions(before)
DELETE FROM question WHERE asked_at < $1
