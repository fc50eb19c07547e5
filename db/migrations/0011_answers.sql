-- Answers to questions that a model was paid for, and the questions of each thread.

CREATE TABLE model_answer (
    key text PRIMARY KEY,
    claims jsonb NOT NULL,  -- [[text, [number of a passage, ...]], ...]
    model text,
    prompt_version text,
    damage jsonb NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX model_answer_created ON model_answer (created_at);

-- Kept for a day: what was asked just before makes "and in 2015?" a question.
CREATE TABLE question (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat_id bigint NOT NULL REFERENCES chat ON DELETE CASCADE,
    thread text,
    asked_at timestamptz NOT NULL,
    text text NOT NULL
);
CREATE INDEX question_chat ON question (chat_id, id DESC);
CREATE INDEX question_asked ON question (asked_at);
