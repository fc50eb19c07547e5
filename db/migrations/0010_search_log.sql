-- What was asked, for the one who runs the bot and for the glossary; and what searches by domain
-- and answers to posts need.

-- A text is there only where it was put to the search on purpose: see docs/decisions/0016-search-log.md.
CREATE TABLE search_log (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    asked_at timestamptz NOT NULL,
    task text NOT NULL,       -- what the search was made for: an event, a run of a command or of an agent
    origin text NOT NULL CHECK (origin IN ('console', 'chat', 'agent')),
    job text NOT NULL CHECK (job IN ('find', 'search')),
    corpus text,
    query text,               -- NULL where it is somebody's message
    query_hash text NOT NULL, -- tells repetitions, with a key that is this database's own
    expanded text,
    filters text[] NOT NULL,  -- as the dialect writes them; names alone where the query is NULL
    plan text,
    counts jsonb NOT NULL,
    returned text[] NOT NULL, -- ids of documents, best first
    milliseconds real NOT NULL,
    prompt_tokens integer,
    completion_tokens integer,
    cost_usd double precision,
    error text                -- the name of an error, never its message
);
CREATE INDEX search_log_asked ON search_log (asked_at);

CREATE TABLE search_log_key (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    key uuid NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO search_log_key DEFAULT VALUES;

-- Receipts of queries that were answered in a chat, for /why. They hold no text of any document.
CREATE TABLE find_answer (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    thread text,
    asked_at timestamptz NOT NULL,
    receipt json NOT NULL
);
CREATE INDEX find_answer_chat ON find_answer (chat_id, id DESC);

-- The domain whose page a document is, without "www.", and those above it.
CREATE FUNCTION domains_of(meta jsonb, url text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (
        SELECT coalesce(array_agg(array_to_string(host.labels[i:], '.') ORDER BY i), '{}')
          FROM (SELECT string_to_array(regexp_replace(lower(coalesce(
                           meta ->> 'domain', substring(url FROM '^\w+://(?:[^/@]*@)?([^/:?#]+)'))),
                       '^www\.', ''), '.') AS labels) host,
               generate_subscripts(host.labels, 1) AS i);

-- The answers to a post.
CREATE INDEX document_reply_to ON document (reply_to) WHERE reply_to IS NOT NULL;
