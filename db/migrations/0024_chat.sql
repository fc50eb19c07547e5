-- The language of whoever subscribed a chat, else of whoever first wrote there, for posts of chats
-- that have chosen none; how long its answers are; and the message that answered an event, which
-- is edited when the event's own message is.
ALTER TABLE chat ADD COLUMN asked_in text;
ALTER TABLE chat ADD COLUMN full_answers boolean NOT NULL DEFAULT false;
ALTER TABLE turn ADD COLUMN answered_by text;

CREATE OR REPLACE VIEW subscriber AS
SELECT c.id AS chat_id, c.platform AS chat_platform, c.external_id AS chat_external_id,
       c.private AS chat_private, c.title AS chat_title, c.language AS chat_language,
       c.time_zone AS chat_time_zone, c.corpus AS chat_corpus, c.listening AS chat_listening,
       c.threshold AS chat_threshold, c.quiet_from AS chat_quiet_from, c.quiet_to AS chat_quiet_to,
       c.picture AS chat_picture, c.active AS chat_active,
       s.mode, s.at, s.weekdays, s.best, s.threshold, s.unjudged, s.unjudged_coverage,
       s.say_nothing_found, s.thread, s.must, s.must_not, s.languages, s.categories, s.since,
       c.full_answers AS chat_full_answers, c.asked_in AS chat_asked_in
  FROM chat c LEFT JOIN subscription s ON s.chat_id = c.id;
