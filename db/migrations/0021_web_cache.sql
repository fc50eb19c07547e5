-- Pages of the web that were read lately, by the canonical address that they were asked for by.
CREATE TABLE web_cache (
    address text PRIMARY KEY,
    url text NOT NULL,          -- where the fetch ended, after redirects
    title text,
    author text,
    site text,
    published_at timestamptz,
    text text NOT NULL,
    etag text,
    last_modified text,
    fetched_at timestamptz NOT NULL,
    bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(text)) STORED
);
CREATE INDEX web_cache_fetched ON web_cache (fetched_at);
