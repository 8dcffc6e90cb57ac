import { randomUUID } from "node:crypto";
import { backgroundDeadline, openDatabase } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { createOutbox } from "@tidings/messaging/outbox";
import { parseRanges, type Range } from "@tidings/outbound/address";
import { createOutbound } from "@tidings/outbound/outbound";
import { createLog } from "@tidings/runtime/log";
import { generateSecretKey, secretBox } from "@tidings/secrets/secret-box";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { startDelivering } from "../deliver.ts";
import { deliveryQueue } from "../delivery.ts";
import { createUnpublish } from "../unpublish.ts";
import { webhookRepository } from "../webhook.ts";

export interface SceneWebhook {
  url: string;
  order?: "ASC" | "DESC";
  triggers?: string[];
  isPublished?: boolean;
  /** The administrator when absent. */
  createdBy?: number;
  /** When it was made; long ago when absent. */
  dateAdded?: string;
}

export const SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
export const localhost: Range[] = parseRanges(["127.0.0.1/32"]).ranges;
export const box = secretBox([generateSecretKey()]);
export const rules = { allowed: localhost, box, triggerPrefix: "svc" };
/** An administrator, whose webhooks receive everything. */
export const ADMINISTRATOR_ID = 1;

/** A database of the webhook service, with what tests put into it and ask of it. */
export async function openScene() {
  const log = createLog("test", "silent");
  const testDatabase = await createTestDatabase();
  const database = openDatabase({ url: testDatabase.url("webhook"), log });
  const webhooks = webhookRepository({ database, outbox: createOutbox(), log }, rules);
  const running: { stop(): Promise<void> }[] = [];
  const query = (text: string, values: unknown[] = []) =>
    database.query({ text }, values, backgroundDeadline());

  await query("insert into roles (id, version, is_admin, is_published) values (1, 1, true, true)");
  await query("insert into users (id, version, role_id, is_published) values ($1, 1, 1, true)", [
    ADMINISTRATOR_ID,
  ]);

  return {
    database,
    webhooks,
    query,
    webhook: (values: SceneWebhook) => addWebhook(query, values),
    /** Deliveries whose bodies are the given texts, and their event ids. */
    async deliveries(webhookId: number, bodies: string[]): Promise<string[]> {
      const ids = bodies.map(() => randomUUID());
      await query(
        `insert into deliveries (webhook_id, event_id, body) select $1, * from unnest($2::uuid[], $3::text[])`,
        [webhookId, ids, bodies],
      );
      return ids;
    },
    /** Starts what delivers, with everything in a hurry. */
    deliver({
      schedule = [0, 0.05, 0.05, 0.05],
      timeoutMs = 1_000,
      unpublish = createUnpublish(database, webhooks, log),
    } = {}) {
      const outbound = createOutbound({ allowed: localhost, timeoutMs });
      const publicUrl = "https://tidings.example";
      const deliverer = startDelivering({ database, log, outbound, schedule, box, publicUrl, unpublish });
      running.push({ stop: () => deliverer.stop().then(outbound.close) });
      return deliverer;
    },
    async states(): Promise<string[]> {
      return (await query("select state from deliveries order by id")).map((row) => row.state ?? "");
    },
    async [Symbol.asyncDispose]() {
      for (const { stop } of running) await stop();
      await database.close();
      await testDatabase.drop();
    },
  };
}

type Query = (text: string, values: unknown[]) => Promise<Row[]>;

async function addWebhook(
  query: Query,
  {
    url,
    order,
    triggers = [],
    isPublished = true,
    createdBy = ADMINISTRATOR_ID,
    dateAdded = "2020-01-01T00:00:00Z",
  }: SceneWebhook,
): Promise<number> {
  const [row] = await query(
    `insert into webhooks
       (is_published, date_added, name, webhook_url, secret, events_orderby_dir, triggers, created_by)
     values ($1, $7, 'test', $2, $3, $4, $5, $6) returning id`,
    [isPublished, url, SECRET, order ?? null, JSON.stringify(triggers), createdBy, dateAdded],
  );
  return Number(row?.id);
}

export type Scene = Awaited<ReturnType<typeof openScene>>;

/** The deliveries that an idle process claims. */
export function claim({ database }: Scene, limit = 100) {
  return deliveryQueue.claim(database, { shares: new Map(), size: 10, after: 0, limit });
}
