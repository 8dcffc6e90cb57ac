import { setTimeout as pause } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import type { BroadcastSchema } from "@tidings/proto/tidings/content/v1/broadcast";
import { type BroadcastKind, EMAIL_BROADCASTS, SMS_BROADCASTS } from "./broadcast-kind.ts";
import { COUNTS, countsIn } from "./broadcast-progress.ts";
import { ARE_HELD, HELD } from "./send-permits.ts";
import { SendState } from "./send-tables.ts";

const statementsOf = (kind: BroadcastKind) => ({
  read: prepared(
    `broadcasts_show_${kind.sends}`,
    `select b.*, extract(epoch from coalesce(b.finished_at, now()) - b.started_at) as seconds,
       coalesce(b.counts::text, ${COUNTS(kind, "b.id")}::text) as sends,
       -- The words of a server rather than those about a rate.
       (select reason from (select reason, code from ${kind.sends} where broadcast_id = b.id and state = 'waiting' limit 1000) w
        where reason is not null order by code is null limit 1) as waiting_reason,
       b.finished_at is null and ${ARE_HELD} as is_held, ${kind.follows} as follows
     from broadcasts b where b.${kind.item} = $1::integer and ($2::uuid is null or b.id = $2::uuid) and ($3::uuid is null or b.id < $3::uuid)
     order by b.id desc limit $4::integer`,
  ),
  // Asked while somebody waits. It passes the entries of sends that were decided since the last vacuum.
  open: prepared(
    `broadcasts_open_${kind.sends}`,
    `select from broadcasts b where b.id = $1::uuid and b.${kind.item} = $2::integer and b.finished_at is null and (b.state in ('choosing', 'cancelling')
       or exists (select from ${kind.sends} where broadcast_id = b.id and state = any (array['waiting', 'started'])))`,
  ),
});
const STATEMENTS = { email: statementsOf(EMAIL_BROADCASTS), sms: statementsOf(SMS_BROADCASTS) };
const LOOK_MS = 100;
/** A look and the way back take a part of the deadline. */
const SPARE_MS = 1_000;
const WAIT_MAX_MS = 20_000;

type Broadcast = MessageInitShape<typeof BroadcastSchema> & { state: string };

const PAGE_MAX = 100;

/** The broadcasts of an entity, the newest first, a page at a time. */
export async function listBroadcasts(
  database: Database,
  { channel }: BroadcastKind,
  { itemId, after, pageSize }: { itemId: number; after: string; pageSize: number },
  deadlineMs: number,
): Promise<{ broadcasts: Broadcast[]; next: string }> {
  const size = Math.min(pageSize || PAGE_MAX, PAGE_MAX);
  // The last one is not shown: it says that a page follows.
  const values = [itemId, null, after || null, size + 1];
  const rows = await database.query(STATEMENTS[channel].read, values, deadlineMs);
  const shown = rows.slice(0, size);
  const next = rows.length > size ? (shown.at(-1)?.id ?? "") : "";
  return { broadcasts: shown.map(toBroadcast), next };
}

/** The broadcast of an entity with this id. */
export async function readBroadcast(
  database: Database,
  { channel }: BroadcastKind,
  { itemId, id }: { itemId: number; id: string },
  deadlineMs: number,
): Promise<Broadcast | undefined> {
  const [row] = await database.query(STATEMENTS[channel].read, [itemId, id, null, 1], deadlineMs);
  return row && toBroadcast(row);
}

/** Waits until a broadcast has nothing left to do, for 20 seconds at most, or until the deadline comes near. It does not wait for an unknown one. */
export async function awaitBroadcast(
  database: Database,
  { channel }: BroadcastKind,
  { itemId, id }: { itemId: number; id: string },
  deadlineMs: number,
): Promise<void> {
  const sinceMs = Date.now();
  const untilMs = Math.min(deadlineMs - SPARE_MS, sinceMs + WAIT_MAX_MS);
  for (;;) {
    const open = await database.query(STATEMENTS[channel].open, [id, itemId], deadlineMs);
    const nowMs = Date.now();
    if (open.length === 0 || nowMs >= untilMs) return;
    // Looks at a large broadcast are dear, and nobody notices a tenth of the time more.
    await pause(Math.min(LOOK_MS + (nowMs - sinceMs) / 10, untilMs - nowMs));
  }
}

function toBroadcast(row: Row): Broadcast {
  const counts = countsIn(row.sends);
  const countOf = (state: string, hasReason?: boolean) =>
    counts
      .filter((one) => one.state === state && (hasReason === undefined || one.has_reason === hasReason))
      .reduce((sum, { count }) => sum + count, 0);
  const queued = countOf(SendState.WAITING, false);
  const sending = countOf(SendState.STARTED);
  const sent = countOf(SendState.SENT);
  const lastError = row.is_held === "t" ? HELD : row.waiting_reason;
  const rate = Number(row.seconds) > 0 ? sent / Number(row.seconds) : 0;
  return {
    id: row.id ?? "",
    state: stateOf(row, queued + sending + countOf(SendState.WAITING, true)),
    chosen: Number(row.chosen),
    queued,
    deferred: countOf(SendState.WAITING, true),
    sending,
    sent,
    failed: countOf(SendState.FAILED),
    suppressed: countOf(SendState.SUPPRESSED),
    unknown: countOf(SendState.UNKNOWN),
    cancelled: countOf(SendState.CANCELLED),
    rate: Math.round(rate * 10) / 10,
    ...(rate > 0 && queued > 0 && { eta: Math.ceil(queued / rate) }),
    ...(lastError && { lastError }),
    startedAt: timestampFromText(row.started_at ?? ""),
    ...(row.finished_at && { finishedAt: timestampFromText(row.finished_at) }),
    ...(row.winner_after_hours && {
      winnerAfterHours: Number(row.winner_after_hours),
      testShare: Number(row.test_share),
    }),
    ...(row.decides_at && { decidesAt: timestampFromText(row.decides_at) }),
    ...(row.winner_id && { winner: Number(row.winner_id) }),
  };
}

/** Finished with its last send, also before the job has noted that. */
function stateOf({ state, is_paused, is_held, follows, finished_at }: Row, open: number): string {
  const isPaused = is_paused === "t" || is_held === "t";
  if (isPaused && !finished_at && state !== "cancelling") return "paused";
  return state === "sending" && open === 0 && follows !== "t" ? "finished" : (state ?? "");
}
