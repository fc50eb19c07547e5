-- name: make_key
INSERT INTO voting_key (day, key) VALUES ($1, $2) ON CONFLICT DO NOTHING

-- name: key
SELECT key FROM voting_key WHERE day = $1

-- name: forget_keys
DELETE FROM voting_key WHERE day < $1
