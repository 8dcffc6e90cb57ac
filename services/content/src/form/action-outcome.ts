import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { toFault } from "@tidings/rpc/fault";

/** SQL of a migration: what became of each action of each submission. */
const TABLE = "form_action_outcomes";
export const ACTION_OUTCOMES = [
  `create table ${TABLE} (
    submission_key uuid not null, action_id integer not null, form_id integer not null, contact_id integer, type text not null,
    -- done, refused with its reason, ignored, or waiting: for what carries out actions of this type.
    state text not null, reason text, date_added timestamptz not null default now(), primary key (submission_key, action_id))`,
  `create index ${TABLE}_age on ${TABLE} (date_added)`,
  `create index ${TABLE}_of_contact on ${TABLE} (contact_id) where contact_id is not null`,
];
/** SQL of a migration: what another form answered, for the visitor. */
export const OUTCOME_ANSWERS = [`alter table ${TABLE} add column answer jsonb`];

/** The answer of another form that the visitor gets: a refusal, or an address to go on to. */
export interface RepostAnswer {
  /** By the aliases of the fields. */
  errors?: Record<string, string>;
  message?: string;
  redirect?: string;
}

/** The outcome of an action. `failed`: it was given up; `unknown`: it was begun, and the process that did so died. */
export interface ActionOutcome {
  actionId: number;
  type: string;
  state: "done" | "refused" | "failed" | "ignored" | "waiting" | "unknown";
  reason?: string | undefined;
  answer?: RepostAnswer | undefined;
}

/** The outcome of an action that is not tried again. */
export function failedOutcome({ id, type }: { id: number; type: string }, error: unknown): ActionOutcome {
  return { actionId: id, type, state: "failed", reason: toFault(error).message };
}

/** A submission, and the contact that it is of; 0 where nobody knows. */
export interface Acted {
  key: string;
  formId: number;
  contactId: number;
}

/** An outcome that is known later replaces an unknown one. */
const recordStatement = prepared(
  "form_action_outcomes_add",
  `insert into ${TABLE} as o (submission_key, action_id, form_id, contact_id, type, state, reason, answer)
   values ($1, $2, $3, $4, $5, $6, $7, $8::jsonb)
   on conflict (submission_key, action_id) do update
     set state = excluded.state, reason = excluded.reason, answer = excluded.answer where o.state = 'unknown'`,
);

export function recordOutcome(
  transaction: Transaction,
  { key, formId, contactId }: Acted,
  { actionId, type, state, reason, answer }: ActionOutcome,
): void {
  transaction.execute(recordStatement, [
    key,
    actionId,
    formId,
    contactId || null,
    type,
    state,
    reason ?? null,
    answer ? JSON.stringify(answer) : null,
  ]);
}
