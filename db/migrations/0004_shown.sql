-- The page of an answer that the answering message shows, a picture or a further page too: a reply or
-- a reaction to the message is about it. `language` is that of its vote buttons, if it has any.
-- `answered_by` holds all messages of a split answer, in order, separated by spaces.
ALTER TABLE turn
    ADD COLUMN answer_id bigint,
    ADD COLUMN first integer,
    ADD COLUMN last integer,
    ADD COLUMN language text;
CREATE INDEX turn_answer ON turn (answer_id) WHERE answer_id IS NOT NULL;
