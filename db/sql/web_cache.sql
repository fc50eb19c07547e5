-- name: page(address)
SELECT url, title, author, site, published_at, text, etag, last_modified, fetched_at
  FROM web_cache
 WHERE address = $1

-- name: store_page(address, url, title, author, site, published_at, text, etag, last_modified, fetched_at)
-- Does not wait for the disk: a crash of the server costs at most another fetch.
INSERT INTO web_cache
       (address, url, title, author, site, published_at, text, etag, last_modified, fetched_at)
SELECT $1, $2, $3, $4, $5, $6::timestamptz, $7, $8, $9, $10::timestamptz
  FROM set_config('synchronous_commit', 'off', true)
ON CONFLICT (address) DO UPDATE
   SET url = excluded.url, title = excluded.title, author = excluded.author,
       site = excluded.site, published_at = excluded.published_at, text = excluded.text,
       etag = excluded.etag, last_modified = excluded.last_modified,
       fetched_at = excluded.fetched_at

-- name: forget_pages(before, most_bytes)
WITH kept AS (
    SELECT address, sum(bytes) OVER (ORDER BY fetched_at DESC, address) AS bytes FROM web_cache
), gone AS (
    DELETE FROM web_cache c USING kept k
     WHERE c.address = k.address AND (c.fetched_at < $1 OR k.bytes > $2::bigint)
    RETURNING 1
)
SELECT count(*) FROM gone
