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

/** Later addition: jobs as callers see them, which stay after their end (records.ts), and the job that forgets them. */
export const JOB_RECORDS = [
  `create table job_records (
    id uuid primary key,
    kind text not null,
    key text not null,
    subject_id integer not null,
    subject_name text not null,
    -- The user whose right to what is their own reaches the job: the author of its subject.
    owner_id integer,
    -- waiting, running, done, failed or cancelled
    state text not null default 'waiting',
    done integer not null default 0,
    total integer,
    problem text,
    result jsonb not null default '{}',
    date_added timestamptz not null default now(),
    created_by integer,
    created_by_user text,
    date_started timestamptz,
    -- When it went on last.
    date_modified timestamptz,
    date_ended timestamptz,
    cancelled_by_user text
  )`,
  "create unique index job_records_open on job_records (kind, key) where date_ended is null",
  "create index job_records_kind on job_records (kind, id)",
  "create index job_records_subject on job_records (kind, subject_id, id)",
  "create index job_records_ended on job_records (date_ended) where date_ended is not null",
  "insert into jobs (kind, key) values ('job_records', 'old')",
];
