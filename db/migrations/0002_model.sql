-- What a language model was paid for: its judgments, and what each call cost.

CREATE TABLE judgment (
    key text PRIMARY KEY,
    scores jsonb NOT NULL,  -- [[candidate id, 0..6], ...]
    model text,
    prompt_version text,
    created_at timestamptz NOT NULL
);
CREATE INDEX judgment_created ON judgment (created_at);

CREATE TABLE model_call (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    called_at timestamptz NOT NULL,
    purpose text NOT NULL,
    model text NOT NULL,
    prompt_tokens integer,  -- NULL: the endpoint did not say
    completion_tokens integer,
    cost_usd double precision
);
CREATE INDEX model_call_called ON model_call (called_at);
