-- What a corpus foretold, as far as everybody may know: prophecies that were sent to chats about
-- headlines of the configured feeds, and hits of answers that have more votes for them than against
-- them. The latter have a chat: the page shows those of some chats only.
CREATE VIEW foretold AS
SELECT p.corpus, p.external_id, s.text AS headline, s.published AS until, NULL::bigint AS chat_id,
       coalesce(f.prophecy, a.prophecy) AS prophecy
  FROM posted p
  JOIN story s ON s.id = p.story_id
  LEFT JOIN find f ON f.story_id = p.story_id AND f.corpus = p.corpus
  LEFT JOIN answer a ON a.id = p.answer_id
 WHERE EXISTS (SELECT FROM delivery d WHERE d.id = p.delivery_id AND d.state = 'sent')
   AND EXISTS (SELECT FROM headline h JOIN feed ON feed.id = h.feed_id
                WHERE h.story_id = p.story_id AND feed.configured_url IS NOT NULL)
UNION ALL
SELECT a.prophecy ->> 'corpus', hit -> 'candidate' ->> 'external_id',
       a.prophecy -> 'headline' ->> 'text',
       coalesce((a.prophecy -> 'headline' ->> 'date')::timestamptz, a.asked_at),
       a.chat_id, a.prophecy
  FROM (SELECT answer_id, rank FROM vote GROUP BY answer_id, rank HAVING sum(value) > 0) AS liked
  JOIN answer a ON a.id = liked.answer_id
 CROSS JOIN LATERAL json_array_elements(a.prophecy -> 'hits') AS hit
 WHERE (hit ->> 'rank')::integer = liked.rank;
