-- Feeds, what they brought, what was found for it, and what is owed to chats.

CREATE TABLE feed (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url text NOT NULL UNIQUE,    -- where it is polled: it may have moved
    configured_url text UNIQUE,  -- as the settings name it; NULL: added in chats alone
    category text,
    title text,
    etag text,
    last_modified text,
    next_poll_at timestamptz NOT NULL,
    polled_at timestamptz,
    succeeded_at timestamptz,
    failures integer NOT NULL DEFAULT 0,
    failing_since timestamptz,
    told_failing boolean NOT NULL DEFAULT false,
    gone boolean NOT NULL DEFAULT false,
    moved_to text,
    moved_times integer NOT NULL DEFAULT 0,
    error text,
    read_at timestamptz,       -- entries came, and not only word that nothing changed
    leased_until timestamptz,  -- a process is polling it
    created_at timestamptz NOT NULL
);
CREATE INDEX feed_due ON feed (next_poll_at) WHERE NOT gone;

-- Feeds that a chat added for itself. Those of the settings are everybody's.
CREATE TABLE chat_feed (
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    feed_id bigint NOT NULL REFERENCES feed ON DELETE CASCADE,
    category text,
    added_at timestamptz NOT NULL,
    PRIMARY KEY (chat_id, feed_id)
);
CREATE INDEX chat_feed_feed ON chat_feed (feed_id);

CREATE TABLE story (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    title text NOT NULL,
    text text NOT NULL,
    link text,
    link_key text,         -- the link without what only tells readers apart
    words text[] NOT NULL, -- sorted, distinct: near-identical headlines share most of them
    language text,
    published timestamptz NOT NULL,
    first_seen_at timestamptz NOT NULL
);
CREATE INDEX story_seen ON story (first_seen_at);
CREATE INDEX story_link ON story (link_key) WHERE link_key IS NOT NULL;
-- Searched before every insert: what waits in a pending list would be read each time.
CREATE INDEX story_words ON story USING gin (words) WITH (fastupdate = off);

-- Entries that were seen, so that each is new once.
CREATE TABLE headline (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    feed_id bigint NOT NULL REFERENCES feed ON DELETE CASCADE,
    identity_hash bytea NOT NULL,  -- SHA-256 of the identity
    words_hash bytea NOT NULL,     -- SHA-256 of link and words: a feed may change its guids
    story_id bigint REFERENCES story ON DELETE SET NULL,  -- NULL: no news
    title text NOT NULL,
    link text,
    published timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,  -- in the feed
    UNIQUE (feed_id, identity_hash)
);
CREATE INDEX headline_words ON headline (feed_id, words_hash);
CREATE INDEX headline_story ON headline (story_id);
CREATE INDEX headline_last_seen ON headline (last_seen_at);

-- One story searched in one corpus.
CREATE TABLE find (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    story_id bigint NOT NULL REFERENCES story ON DELETE CASCADE,
    corpus text NOT NULL,
    state text NOT NULL CHECK (state IN ('promising', 'dull', 'judged', 'unjudged')),
    coverage double precision NOT NULL,
    best integer,           -- highest judgment of its hits
    prophecy json,          -- NULL for what promises nothing
    note text,              -- why it was not judged
    found_at timestamptz NOT NULL,
    UNIQUE (story_id, corpus)
);
CREATE INDEX find_found ON find (found_at);
CREATE INDEX find_promising ON find (coverage DESC) WHERE state = 'promising';

CREATE TABLE subscription (
    chat_id bigint PRIMARY KEY REFERENCES chat ON DELETE CASCADE,
    mode text NOT NULL CHECK (mode IN ('daily', 'instant', 'off')),
    at time NOT NULL DEFAULT '09:00',
    weekdays integer[] NOT NULL DEFAULT '{0,1,2,3,4,5,6}',
    best integer NOT NULL DEFAULT 3 CHECK (best BETWEEN 1 AND 10),
    threshold smallint NOT NULL DEFAULT 5 CHECK (threshold BETWEEN 0 AND 6),
    unjudged boolean NOT NULL DEFAULT false,
    unjudged_coverage double precision NOT NULL DEFAULT 0.6,
    say_nothing_found boolean NOT NULL DEFAULT false,
    thread text,
    must text[] NOT NULL DEFAULT '{}',
    must_not text[] NOT NULL DEFAULT '{}',
    languages text[] NOT NULL DEFAULT '{}',
    categories text[] NOT NULL DEFAULT '{}',
    since timestamptz NOT NULL  -- nothing older is posted
);

-- A daily post is decided once a local date, also when there was nothing to post.
CREATE TABLE digest (
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    local_date date NOT NULL,
    decided_at timestamptz NOT NULL,
    PRIMARY KEY (chat_id, local_date)
);

CREATE TABLE delivery (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    thread text,
    content json NOT NULL,
    state text NOT NULL DEFAULT 'owed' CHECK (state IN ('owed', 'sent', 'failed')),
    attempts integer NOT NULL DEFAULT 0,
    begun_at timestamptz,      -- the last attempt that may have arrived
    next_attempt_at timestamptz NOT NULL,
    leased_until timestamptz,
    lease bigint,              -- changes with each lease: an old holder can settle nothing
    message_id text,           -- the platform's, once sent
    error text,
    created_at timestamptz NOT NULL,
    settled_at timestamptz
);
CREATE INDEX delivery_due ON delivery (next_attempt_at) WHERE state = 'owed';
CREATE INDEX delivery_owed ON delivery (chat_id, id) WHERE state = 'owed';
CREATE INDEX delivery_chat ON delivery (chat_id, id DESC);
CREATE INDEX delivery_begun ON delivery (chat_id, begun_at);
CREATE INDEX delivery_settled ON delivery (settled_at);
CREATE SEQUENCE lease_number CYCLE;

-- What was posted where: a story once, a text not again for a long while.
CREATE TABLE posted (
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    story_id bigint REFERENCES story ON DELETE SET NULL,
    delivery_id bigint REFERENCES delivery ON DELETE SET NULL,
    answer_id bigint REFERENCES answer ON DELETE SET NULL,
    corpus text NOT NULL,
    external_id text NOT NULL,
    text text NOT NULL,
    posted_at timestamptz NOT NULL
);
CREATE INDEX posted_chat ON posted (chat_id, posted_at);
CREATE INDEX posted_story ON posted (story_id);
CREATE INDEX posted_delivery ON posted (delivery_id);
CREATE INDEX posted_answer ON posted (answer_id);
CREATE UNIQUE INDEX posted_once ON posted (chat_id, story_id);

-- What became of the jobs, a day and outcome at a time.
CREATE TABLE job_outcome (
    job text NOT NULL,
    day date NOT NULL,  -- UTC
    outcome text NOT NULL CHECK (outcome IN ('done', 'failed', 'timed out', 'missed', 'skipped')),
    times integer NOT NULL,
    last_at timestamptz NOT NULL,
    last_error text,
    PRIMARY KEY (job, day, outcome)
);

-- Each chat with what it wants; mode is NULL where it never said.
CREATE VIEW subscriber AS
SELECT c.id AS chat_id, c.platform AS chat_platform, c.external_id AS chat_external_id,
       c.private AS chat_private, c.title AS chat_title, c.language AS chat_language,
       c.time_zone AS chat_time_zone, c.corpus AS chat_corpus, c.listening AS chat_listening,
       c.threshold AS chat_threshold, c.quiet_from AS chat_quiet_from, c.quiet_to AS chat_quiet_to,
       c.picture AS chat_picture, c.active AS chat_active,
       s.mode, s.at, s.weekdays, s.best, s.threshold, s.unjudged, s.unjudged_coverage,
       s.say_nothing_found, s.thread, s.must, s.must_not, s.languages, s.categories, s.since
  FROM chat c LEFT JOIN subscription s ON s.chat_id = c.id;

-- What each chat may be told of: headlines of the settings' feeds, and of feeds that it added
-- itself from then on. Links of a feed that another chat added may be private.
CREATE VIEW visible_headline AS
SELECT c.id AS chat_id, h.id, h.story_id, h.title, h.link, h.published, f.title AS source,
       coalesce(own.category, f.category) AS category
  FROM chat c
 CROSS JOIN headline h
  JOIN feed f ON f.id = h.feed_id
  LEFT JOIN chat_feed own ON own.feed_id = h.feed_id AND own.chat_id = c.id
 WHERE f.configured_url IS NOT NULL OR own.added_at <= h.seen_at;

-- Stories with the feeds that brought them.
CREATE VIEW told_story AS
SELECT s.id, s.title, s.text, s.link, s.language, s.published, s.first_seen_at,
       brought.source, coalesce(brought.categories, '{}') AS categories
  FROM story s
 CROSS JOIN LATERAL (
       SELECT (array_agg(f.title ORDER BY h.id))[1] AS source,
              array_agg(DISTINCT f.category ORDER BY f.category)
                  FILTER (WHERE f.category IS NOT NULL) AS categories
         FROM headline h JOIN feed f ON f.id = h.feed_id
        WHERE h.story_id = s.id) brought;
