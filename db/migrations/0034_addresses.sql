-- Every corpus of tweets had X's addresses, and every text in it X as its platform, whatever it was.
-- Addresses now follow the platform, which those texts keep that X can have numbered: its ids begin
-- with their moment (archives are off by up to twelve hours), the oldest only count.

UPDATE corpus SET url_template = NULL WHERE url_template = 'https://x.com/{author}/status/{id}';

UPDATE document d SET platform = NULL
  FROM corpus c
 WHERE c.id = d.corpus_id AND c.kind = 'tweets' AND d.platform = 'x'
   AND CASE
       WHEN d.external_id !~ '^[0-9]{1,19}$' THEN true
       WHEN d.external_id::numeric > 29700859247
       THEN abs(extract(epoch FROM d.created_at) * 1000 - 1288834974657
                - div(d.external_id::numeric, 4194304)) > 86400000
       ELSE d.created_at NOT BETWEEN '2006-03-21 00:00Z' AND '2010-11-05 00:00Z'
       END;
