-- name: keep(platform, numbers, contents)
INSERT INTO inbox (platform, number, content)
SELECT $1, number, content FROM unnest($2::bigint[], $3::text[]) AS kept (number, content)
ON CONFLICT DO NOTHING

-- name: left(platform)
SELECT number, content FROM inbox WHERE platform = $1 ORDER BY number

-- name: drop(platform, numbers)
DELETE FROM inbox WHERE platform = $1 AND number = ANY ($2::bigint[])
