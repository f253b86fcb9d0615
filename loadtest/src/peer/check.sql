-- The rules of a contact check as far as PostgreSQL can hold them. Times are milliseconds since 1970.
-- The numbers in angle brackets are put in before this is run.

CREATE TABLE effects (
    key      text PRIMARY KEY,
    state    text NOT NULL,
    attempt  integer NOT NULL,
    at       bigint NOT NULL,
    agent    text NOT NULL
);

-- The newest contacts of a customer for a purpose, the oldest first; never more than the limit. Rows
-- are changed in place where their page has room.
CREATE TABLE windows (
    customer text NOT NULL,
    purpose  text NOT NULL,
    times    bigint[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (customer, purpose)
) WITH (fillfactor = 70);

CREATE TABLE suppressions (
    customer text NOT NULL,
    purpose  text NOT NULL,
    PRIMARY KEY (customer, purpose)
);

-- Who has a customer or an object; task locks are holds of 'TARGET task'.
CREATE TABLE holds (
    target   text PRIMARY KEY,
    holder   text NOT NULL,
    rank     integer NOT NULL,
    till     bigint NOT NULL
);

CREATE FUNCTION clock_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
    'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

-- Decides checks in their order, all in one transaction. The windows of all customers are locked
-- first and in one order, so that two calls never wait for each other; the clock is read after that,
-- so that no window meets an older time than it has. Two calls that race for the same effect keys in
-- opposite orders could still wait for each other, and PostgreSQL would end one; the load's effect
-- keys are fresh.
CREATE FUNCTION checks(
    p_effects text[], p_customers text[], p_objects text[],
    p_agents text[], p_tasks text[], p_purpose text
) RETURNS text[] LANGUAGE plpgsql
-- The plans are made while the tables are empty and kept: only keys may be their way to a row.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
DECLARE
    asked     record;
    reserved  record;
    now_ms    bigint;
    blocked   text;
    number    integer;
    left_over bigint;
    answers   text[] := '{}';
BEGIN
    INSERT INTO windows (customer, purpose)
        SELECT DISTINCT customer, p_purpose FROM unnest(p_customers) AS customer ORDER BY customer
        ON CONFLICT DO NOTHING;
    PERFORM 1 FROM windows
        WHERE customer = ANY (p_customers) AND purpose = p_purpose
        ORDER BY customer FOR UPDATE;
    now_ms := clock_ms();
    FOR asked IN
        SELECT q.effect, q.customer, q.agent,
            EXISTS (SELECT FROM suppressions s WHERE s.customer = q.customer
                AND s.purpose IN (p_purpose, 'any')) AS suppressed,
            (SELECT h.holder || ' ' || h.till FROM holds h WHERE h.target = q.customer
                AND h.till > now_ms AND h.holder <> q.agent) AS owner,
            (SELECT h.holder || ' ' || h.till FROM holds h WHERE h.target = q.object
                AND h.till > now_ms AND h.holder <> q.agent) AS holder,
            (SELECT h.holder || ' ' || h.till FROM holds h WHERE h.target = q.object || ' ' || q.task
                AND h.till > now_ms AND h.holder <> q.agent) AS lock
        FROM unnest(p_effects, p_customers, p_objects, p_agents, p_tasks)
            WITH ORDINALITY AS q (effect, customer, object, agent, task, place)
        ORDER BY q.place
    LOOP
        blocked := CASE
            WHEN asked.suppressed THEN 'deny suppressed'
            WHEN asked.owner IS NOT NULL THEN 'defer owner_active ' || asked.owner
            WHEN asked.holder IS NOT NULL THEN 'defer owner_active ' || asked.holder
            WHEN asked.lock IS NOT NULL THEN 'defer lock_held ' || asked.lock
        END;
        number := NULL;
        IF blocked IS NULL THEN
            INSERT INTO effects AS e (key, state, attempt, at, agent)
                VALUES (asked.effect, 'reserved', 1, now_ms, asked.agent)
                ON CONFLICT (key) DO UPDATE
                    SET state = 'reserved', attempt = e.attempt + 1, at = excluded.at,
                        agent = excluded.agent
                    WHERE e.state = 'failed'
                RETURNING attempt INTO number;
        END IF;
        IF number IS NULL THEN
            -- The effect is held, or a later rule blocks: the effect's own answer comes first.
            SELECT state, at INTO reserved FROM effects WHERE key = asked.effect;
            answers := answers || CASE
                WHEN reserved.state = 'done' THEN 'deny effect_done'
                WHEN reserved.state = 'reserved' AND now_ms < reserved.at + <LEASE_MS>
                    THEN 'deny effect_in_flight'
                WHEN reserved.state IN ('reserved', 'unknown_outcome')
                    THEN 'deny effect_unknown_outcome'
                ELSE blocked
            END;
            CONTINUE;
        END IF;
        UPDATE windows w
            SET times = w.times[greatest(1, cardinality(w.times) - <LIMIT> + 2):] || now_ms
            WHERE w.customer = asked.customer AND w.purpose = p_purpose
                AND (cardinality(w.times) < <LIMIT>
                    OR w.times[cardinality(w.times) - <LIMIT> + 1] + <WINDOW_MS> <= now_ms)
            RETURNING <LIMIT> - (SELECT count(*) FROM unnest(w.times) AS t
                WHERE t + <WINDOW_MS> > now_ms) INTO left_over;
        IF FOUND THEN
            answers := answers || format('allow %s %s', number, left_over);
        ELSE
            -- Nothing may stay of a check that is refused.
            IF number = 1 THEN
                DELETE FROM effects WHERE key = asked.effect;
            ELSE
                UPDATE effects SET state = 'failed', attempt = number - 1 WHERE key = asked.effect;
            END IF;
            answers := answers || (SELECT 'deny budget_exhausted '
                    || w.times[cardinality(w.times) - <LIMIT> + 1] + <WINDOW_MS>
                FROM windows w WHERE w.customer = asked.customer AND w.purpose = p_purpose);
        END IF;
    END LOOP;
    RETURN answers;
END
$$;

-- Says how an effect ended.
CREATE FUNCTION settle(p_key text, p_state text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE effects SET state = p_state WHERE key = p_key AND state <> 'done';
    RETURN FOUND;
END
$$;

CREATE FUNCTION suppress(p_customer text, p_purpose text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO suppressions VALUES (p_customer, p_purpose) ON CONFLICT DO NOTHING;
    RETURN FOUND;
END
$$;

-- Takes an entity, or a task of an object, unless another holds it with the same rank or a stricter
-- one (a lower number).
CREATE FUNCTION hold(p_target text, p_holder text, p_rank integer, p_lease_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO holds AS h VALUES (p_target, p_holder, p_rank, clock_ms() + p_lease_ms)
        ON CONFLICT (target) DO UPDATE
            SET holder = excluded.holder, rank = excluded.rank, till = excluded.till
            WHERE h.holder = excluded.holder OR h.till <= clock_ms() OR h.rank > excluded.rank;
    RETURN FOUND;
END
$$;
