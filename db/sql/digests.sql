-- name: last_decided
SELECT chat_id, topic, max(local_date) AS local_date FROM digest GROUP BY chat_id, topic
