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
