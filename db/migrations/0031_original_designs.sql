-- The search log tells questions, too, and the platforms of what was found.
ALTER TABLE search_log
    DROP CONSTRAINT search_log_job_check,
    ADD CONSTRAINT search_log_job_check CHECK (job IN ('find', 'search', 'ask')),
    ADD COLUMN platforms text[] NOT NULL DEFAULT '{}';
