-- name: make_key(day, key)
INSERT INTO voting_key (day, key) VALUES ($1, $2) ON CONFLICT DO NOTHING

-- name: key(day)
SELECT key FROM voting_key WHERE day = $1

-- name: forget_keys(before)
DELETE FROM voting_key WHERE day < $1
