-- Chats with their settings, what is being answered, what was answered, votes and quotas.

CREATE TABLE chat (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    platform text NOT NULL,
    external_id text NOT NULL,
    private boolean NOT NULL,
    title text,
    language text,
    time_zone text NOT NULL DEFAULT 'UTC',
    corpus text,
    listening text NOT NULL DEFAULT 'mentions' CHECK (listening IN ('all', 'mentions', 'commands')),
    threshold smallint NOT NULL DEFAULT 4 CHECK (threshold BETWEEN 0 AND 6),
    quiet_from time,
    quiet_to time,
    picture boolean NOT NULL DEFAULT false,
    active boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (platform, external_id)
);

-- Each process takes a number and holds an advisory lock on it for as long as it lives, so
-- that others can tell whether the one that took an event is still there.
CREATE SEQUENCE process_number AS integer CYCLE;

-- Events that were taken. A platform may deliver one again, to any process.
CREATE TABLE turn (
    platform text NOT NULL,
    event_id text NOT NULL,
    process integer NOT NULL,
    state text NOT NULL DEFAULT 'taken' CHECK (state IN ('taken', 'answering', 'done')),
    taken_at timestamptz NOT NULL,
    PRIMARY KEY (platform, event_id)
);
CREATE INDEX turn_taken ON turn (taken_at);

CREATE TABLE answer (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    thread text,
    asked_at timestamptz NOT NULL,
    first integer NOT NULL,
    last integer NOT NULL,
    prophecy json NOT NULL  -- as it was written: order and all
);
CREATE INDEX answer_chat ON answer (chat_id, id DESC);

CREATE TABLE vote (
    answer_id bigint NOT NULL REFERENCES answer ON DELETE CASCADE,
    rank integer NOT NULL,
    person text NOT NULL,
    value smallint NOT NULL CHECK (value IN (-1, 1)),
    voted_at timestamptz NOT NULL,
    PRIMARY KEY (answer_id, rank, person)
);

CREATE TABLE quota (
    scope text NOT NULL,  -- "user:telegram:42", "chat:7"
    day date NOT NULL,    -- UTC
    used integer NOT NULL,
    PRIMARY KEY (scope, day)
);
