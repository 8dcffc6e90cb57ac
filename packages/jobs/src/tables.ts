/** A schema's table of jobs: what takes time and is not to be lost. */
export const JOB_TABLE = [
  `create table jobs (
    id bigint generated always as identity primary key,
    kind text not null,
    -- The subject of the job: there is one open job for each kind and key.
    key text not null,
    fair_group integer not null default 0,
    -- The lowest first.
    priority smallint not null default 0,
    -- waiting, started, unknown or set_aside: see job-state.ts; a job that is done is gone
    state text not null default 'waiting',
    -- When it may be claimed: a claim moves it past the end of its lease, a failure to the next attempt.
    due_at timestamptz not null default now(),
    -- Rises with each claim and each restart: who holds a lower one has lost the job.
    lease_token integer not null default 0,
    attempts integer not null default 0,
    -- The arguments of the job and its progress.
    payload jsonb not null default '{}',
    -- Why it was set aside.
    reason text,
    created_at timestamptz not null default now(),
    unique (kind, key)
  )`,
  "create index jobs_waiting on jobs (kind, fair_group, priority, due_at, id) where state = 'waiting'",
];

/** Later additions: indexes for the first due job and for dead-lettered jobs of a kind, and the trace of each job. */
export const JOB_BACKLOG = [
  "create index jobs_due on jobs (kind, due_at) where state = 'waiting'",
  "create index jobs_set_aside on jobs (kind) where state = 'set_aside'",
  "alter table jobs add column traceparent text",
];

/** Later addition: the step before effects that cannot be repeated. */
export const JOB_STARTS = [
  "alter table jobs add column started_at timestamptz",
  "create index jobs_started on jobs (kind, due_at) where state = 'started'",
  "create index jobs_unknown on jobs (kind) where state = 'unknown'",
];
