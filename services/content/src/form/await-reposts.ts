import { setTimeout as pause } from "node:timers/promises";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import type { RepostAnswer } from "./action-outcome.ts";
import { REPOST, REPOST_JOB, REPOST_MS } from "./repost.ts";

/** Visitors of one process who may wait at a time: others are answered at once. */
const WAITING_MAX = 100;
/** A repost that does not begin meanwhile waits for something else. */
const BEGIN_MS = 2_000;
const POLL_FIRST_MS = 40;
const POLL_MAX_MS = 400;

const statement = prepared(
  "form_reposts_answers",
  `select o.state, o.answer, j.key is not null as is_begun
   from unnest($2::integer[]) as a (id)
   left join form_action_outcomes o on o.submission_key = $1::uuid and o.action_id = a.id
   left join jobs j on ${REPOST_JOB}`,
);

let waiting = 0;

/**
 * The answer of the other forms that a submission is posted to, for its visitor: a refusal, or an address to go on to. Undefined where none says
 * so in time: the submission goes its way then.
 */
export async function awaitReposts(
  database: Database,
  { form, key }: { form: Form; key: string },
): Promise<RepostAnswer | undefined> {
  const actionIds = form.actions.flatMap(({ id, type }) => (type === REPOST ? [id] : []));
  if (actionIds.length === 0 || waiting >= WAITING_MAX) return undefined;
  waiting += 1;
  try {
    return await poll(() => database.query(statement, [key, actionIds], backgroundDeadline()));
  } finally {
    waiting -= 1;
  }
}

async function poll(look: () => Promise<Row[]>): Promise<RepostAnswer | undefined> {
  const startedAt = performance.now();
  for (let restMs = POLL_FIRST_MS; ; restMs = Math.min(restMs * 1.5, POLL_MAX_MS)) {
    const rows = await look();
    const answers = rows.flatMap(({ answer }) => (answer ? [JSON.parse(answer) as RepostAnswer] : []));
    const refusal = answers.find(({ redirect }) => redirect === undefined);
    if (refusal || rows.every(({ state }) => state)) return refusal ?? answers[0];
    const hasBegun = rows.some(({ state, is_begun }) => state || is_begun === "t");
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > (hasBegun ? REPOST_MS + BEGIN_MS : BEGIN_MS)) return answers[0];
    await pause(restMs);
  }
}
