-- What whoever runs the page decided about prophecies that visitors voted for: what strangers wrote
-- is shown to nobody else before that.
CREATE TABLE wall_decision (
    answer_id bigint NOT NULL REFERENCES answer ON DELETE CASCADE,
    rank integer NOT NULL,
    approved boolean NOT NULL,
    decided_at timestamptz NOT NULL,
    PRIMARY KEY (answer_id, rank)
);
