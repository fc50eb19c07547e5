-- name: analyse
SELECT w.ordinal AS word, l.language, u.lexeme, u.positions[1] AS position,
       coalesce(k.document_frequency, 0) AS document_frequency, coalesce(k.max_tf, 1) AS max_tf
  FROM unnest($2::text[]) WITH ORDINALITY AS w (word, ordinal)
 CROSS JOIN unnest($3::text[]) AS l (language)
 CROSS JOIN LATERAL unnest(to_tsvector(('presagio_' || l.language)::regconfig, w.word)) AS u
  LEFT JOIN lexeme k ON k.corpus_id = $1 AND k.lexeme = u.lexeme

-- name: neighbours
SELECT lexeme, document_frequency, max_tf, similarity(lexeme, $2) AS similarity
  FROM lexeme
 WHERE corpus_id = $1 AND lexeme % $2 AND document_frequency > 0
 ORDER BY similarity(lexeme, $2) DESC, document_frequency DESC, lexeme
 LIMIT 10

-- name: documents
SELECT d.id, d.external_id, d.text, d.context, d.created_at, d.author, d.url, d.lang, d.flags,
       d.length, m.lexemes, m.frequencies
  FROM document d
 CROSS JOIN LATERAL (
       SELECT coalesce(array_agg(u.lexeme), '{}') AS lexemes,
              coalesce(array_agg(cardinality(u.positions)), '{}') AS frequencies
         FROM unnest(d.tsv) AS u
        WHERE u.lexeme = ANY ($3::text[])) AS m
 WHERE d.corpus_id = $1 AND d.id = ANY ($2::bigint[])

-- name: share
SELECT FROM document
 WHERE corpus_id = $1
   AND created_at < coalesce($2::timestamptz, 'infinity')
   AND created_at >= coalesce($3::timestamptz, '-infinity')
