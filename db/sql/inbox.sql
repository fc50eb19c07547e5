-- name: keep
INSERT INTO inbox (platform, number, content)
SELECT $1, number, content FROM unnest($2::bigint[], $3::text[]) AS kept (number, content)
ON CONFLICT DO NOTHING

-- name: left
SELECT number, content FROM inbox WHERE platform = $1 ORDER BY number

-- name: drop
DELETE FROM inbox WHERE platform = $1 AND number = ANY ($2::bigint[])
