-- The threshold of what is told unasked is the last kind that is (engine.search.HitKind).
DROP VIEW subscriber, subscribed;

ALTER TABLE chat
    DROP CONSTRAINT chat_threshold_check,
    ALTER threshold DROP DEFAULT,
    ALTER threshold TYPE text USING CASE WHEN threshold > 5 THEN 'prediction'
                                         WHEN threshold = 5 THEN 'mirror'
                                         ELSE 'earlier case' END,
    ALTER threshold SET DEFAULT 'mirror',
    ADD CHECK (threshold IN ('prediction', 'demand', 'mirror', 'earlier case'));

ALTER TABLE subscription
    DROP CONSTRAINT subscription_threshold_check,
    ALTER threshold DROP DEFAULT,
    ALTER threshold TYPE text USING CASE WHEN threshold > 5 THEN 'prediction'
                                         WHEN threshold = 5 THEN 'mirror'
                                         ELSE 'earlier case' END,
    ALTER threshold SET DEFAULT 'mirror',
    ADD CHECK (threshold IN ('prediction', 'demand', 'mirror', 'earlier case'));

CREATE VIEW subscribed AS
SELECT c.id AS chat_id, c.platform AS chat_platform, c.external_id AS chat_external_id,
       c.private AS chat_private, c.title AS chat_title, c.language AS chat_language,
       c.time_zone AS chat_time_zone, c.corpus AS chat_corpus, c.listening AS chat_listening,
       c.threshold AS chat_threshold, c.quiet_from AS chat_quiet_from, c.quiet_to AS chat_quiet_to,
       c.picture AS chat_picture, c.active AS chat_active, c.full_answers AS chat_full_answers,
       c.asked_in AS chat_asked_in,
       s.mode, s.at, s.weekdays, s.best, s.threshold, s.unjudged, s.unjudged_coverage,
       s.say_nothing_found, s.thread, s.must, s.must_not, s.languages, s.categories, s.since,
       s.topic, s.feeds, s.silent, s.compose, s.timed_from
  FROM chat c LEFT JOIN subscription s ON s.chat_id = c.id;

CREATE VIEW subscriber AS
SELECT c.id AS chat_id, c.platform AS chat_platform, c.external_id AS chat_external_id,
       c.private AS chat_private, c.title AS chat_title, c.language AS chat_language,
       c.time_zone AS chat_time_zone, c.corpus AS chat_corpus, c.listening AS chat_listening,
       c.threshold AS chat_threshold, c.quiet_from AS chat_quiet_from, c.quiet_to AS chat_quiet_to,
       c.picture AS chat_picture, c.active AS chat_active, c.full_answers AS chat_full_answers,
       c.asked_in AS chat_asked_in,
       s.mode, s.at, s.weekdays, s.best, s.threshold, s.unjudged, s.unjudged_coverage,
       s.say_nothing_found, s.thread, s.must, s.must_not, s.languages, s.categories, s.since,
       s.topic, s.feeds, s.silent, s.compose, s.timed_from
  FROM chat c LEFT JOIN subscription s ON s.chat_id = c.id AND s.topic = '';
