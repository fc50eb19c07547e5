-- name: make_key(day, key)
INSERT INTO voting_key (day, key) VALUES ($1, $2) ON CONFLICT DO NOTHING

-- name: key(day)
SELECT key FROM voting_key WHERE day = $1

-- name: forget_keys(before)
DELETE FROM voting_key WHERE day < $1

-- name: voted
-- Hits that were voted on in the chats $2, and whether everybody may see them. An address is another
-- voter the next day, so the voters of a crowd are those of one day.
SELECT a.id AS answer_id, v.rank, a.asked_at, a.prophecy, v.up, v.down, d.approved, d.decided_at,
       v.up > v.down
       AND coalesce(d.approved, a.chat_id = ANY ($3::bigint[]) OR v.crowd >= nullif($4::integer, 0),
                    false) AS shown
  FROM (SELECT answer_id, rank, sum(up)::integer AS up, sum(down)::integer AS down,
               max(up) AS crowd
          FROM (SELECT answer_id, rank, count(*) FILTER (WHERE value > 0) AS up,
                       count(*) FILTER (WHERE value < 0) AS down
                  FROM vote
                 GROUP BY answer_id, rank, (voted_at AT TIME ZONE 'UTC')::date) AS day
         GROUP BY answer_id, rank) AS v
  JOIN answer a ON a.id = v.answer_id AND a.chat_id = ANY ($2::bigint[])
  LEFT JOIN wall_decision d ON d.answer_id = v.answer_id AND d.rank = v.rank

-- name: shown(limit, chats, trusted, voters, corpora)
SELECT answer_id, rank, asked_at, prophecy::text AS prophecy, up, down, approved, shown, decided_at
  FROM ({voted}) AS voted
 WHERE shown AND prophecy ->> 'corpus' = ANY ($5::text[])
 ORDER BY up - down DESC, asked_at, answer_id, rank
 LIMIT $1

-- name: approved(limit, chats, trusted, voters, corpora)
SELECT answer_id, rank, asked_at, prophecy::text AS prophecy, up, down, approved, shown, decided_at
  FROM ({voted}) AS voted
 WHERE approved AND shown AND prophecy ->> 'corpus' = ANY ($5::text[])
 ORDER BY decided_at DESC, answer_id, rank
 LIMIT $1

-- name: listed(limit, chats, trusted, voters)
SELECT answer_id, rank, asked_at, prophecy::text AS prophecy, up, down, approved, shown, decided_at
  FROM ({voted}) AS voted
 WHERE approved IS NOT NULL OR up > down
 ORDER BY approved IS NOT NULL OR shown, up - down DESC, asked_at, answer_id, rank
 LIMIT $1

-- name: waiting(limit, chats, trusted, voters)
SELECT count(*)
  FROM (SELECT FROM ({voted}) AS voted WHERE approved IS NULL AND up > down AND NOT shown LIMIT $1) w

-- name: decide(answer_id, rank, approved, decided_at, chats)
INSERT INTO wall_decision (answer_id, rank, approved, decided_at)
SELECT DISTINCT v.answer_id, v.rank, $3::boolean, $4::timestamptz
  FROM vote v JOIN answer a ON a.id = v.answer_id
 WHERE v.answer_id = $1 AND v.rank = $2 AND a.chat_id = ANY ($5::bigint[])
ON CONFLICT (answer_id, rank) DO UPDATE
   SET approved = excluded.approved, decided_at = excluded.decided_at
RETURNING true

-- name: decided_last
SELECT max(decided_at) FROM wall_decision
