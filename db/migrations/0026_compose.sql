-- Tweets that people in chats asked for: the task, the message that is edited while they are
-- written, and what was written, for its buttons. A task whose process has died is taken up by
-- another one: see docs/decisions/0032-compose.md.
CREATE TABLE composition (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    thread text,
    asked_at timestamptz NOT NULL,
    task json NOT NULL,
    state text NOT NULL DEFAULT 'asked'
        CHECK (state IN ('asked', 'waiting', 'written', 'shown', 'stopped')),
    process integer,
    attempts integer NOT NULL DEFAULT 0,
    message text,
    outcome json
);
CREATE INDEX composition_chat ON composition (chat_id);
CREATE INDEX composition_asked_at ON composition (asked_at);
CREATE INDEX composition_unfinished ON composition (id) WHERE state IN ('waiting', 'written');

-- Whether a daily post brings a drafted tweet about its first story, and what was drafted, so that
-- sending it again does not write it again.
ALTER TABLE subscription ADD COLUMN compose boolean NOT NULL DEFAULT false;
CREATE TABLE draft (
    delivery_key text PRIMARY KEY,
    drafted_at timestamptz NOT NULL,
    outcome json NOT NULL
);
CREATE INDEX draft_drafted_at ON draft (drafted_at);
