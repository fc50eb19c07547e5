-- What a reply to a message of the bot is about: the event that was answered there, and of a
-- question who asked it and which one it followed.
ALTER TABLE answer ADD COLUMN event_id text;
ALTER TABLE find_answer ADD COLUMN event_id text;
ALTER TABLE question
    ADD COLUMN event_id text,
    ADD COLUMN person text,
    ADD COLUMN follows bigint;
