-- Who owns the bot and who may use it, messages that wait for the choice of an archive, and what the
-- voice of an archive is called and looks like.

CREATE TABLE owner (
    platform text PRIMARY KEY,
    person text NOT NULL,
    chat text NOT NULL,  -- the private chat in which this person is reached
    language text NOT NULL,
    since timestamptz NOT NULL
);

-- Makes whoever writes it in private the owner, once.
CREATE TABLE owner_code (
    platform text PRIMARY KEY,
    code text NOT NULL,
    made_at timestamptz NOT NULL
);

-- Chats that asked for the owner's leave, and what the owner decided.
CREATE TABLE admission (
    platform text NOT NULL,
    external_id text NOT NULL,
    title text,
    language text NOT NULL,
    state text NOT NULL CHECK (state IN ('asked', 'allowed', 'refused')),
    since timestamptz NOT NULL,
    PRIMARY KEY (platform, external_id)
);

CREATE TABLE waiting (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    thread text,
    message text NOT NULL,  -- as written, with its command
    written_at timestamptz,
    asked_at timestamptz NOT NULL
);
CREATE INDEX waiting_asked ON waiting (asked_at);

ALTER TABLE corpus
    ADD COLUMN display_name text,
    ADD COLUMN avatar bytea;
