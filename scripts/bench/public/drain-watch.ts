import { setTimeout as pause } from "node:timers/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { Client } from "pg";
import type { TemporaryStack } from "../temporary-stack.ts";

export interface DrainWatch {
  /** Ends when every event was published and consumed, every submission is followed up, and every click has its verdict. Throws after two minutes. */
  untilDrained(): Promise<void>;
  close(): Promise<void>;
}

const POLL_MS = 50;
const LIMIT_MS = 120_000;
/** A consumer may just be about to cause the next event. */
const LOOKS = 2;
const WAITING = `
  select exists (select from content.outbox_waiting) or exists (select from contact.outbox_waiting)
    or exists (select from campaign.outbox_waiting)
    or exists (select from content.mail_clicks)
    or exists (select from content.jobs where kind in ('form_submission', 'visitor_identity') and state <> 'set_aside') as is_waiting`;

export async function openDrainWatch({ postgres, natsUrl }: TemporaryStack): Promise<DrainWatch> {
  const client = new Client({ connectionString: postgres.url });
  client.on("error", () => undefined); // Postgres ends with the stack; a look that fails says so itself
  await client.connect();
  const nats = await connect({ servers: natsUrl });
  const manager = await jetstreamManager(nats);
  const isDrained = async () => {
    const { rows } = await client.query(WAITING);
    if (rows[0].is_waiting) return false;
    for await (const { config } of manager.streams.list())
      for await (const { num_pending, num_ack_pending } of manager.consumers.list(config.name))
        if (num_pending + num_ack_pending > 0) return false;
    return true;
  };
  return {
    async untilDrained() {
      const limitAt = performance.now() + LIMIT_MS;
      for (let looks = 0; looks < LOOKS; looks = (await isDrained()) ? looks + 1 : 0) {
        if (performance.now() > limitAt)
          throw new Error("what followed from the load was not done in two minutes");
        await pause(POLL_MS);
      }
    },
    async close() {
      await nats.close();
      await client.end();
    },
  };
}
