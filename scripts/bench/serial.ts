import { setTimeout as pause } from "node:timers/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { startReceiver } from "@tidings/testkit/receiver";
import { Client } from "pg";
import { processes } from "../processes.ts";
import { callApi } from "./call-api.ts";
import { type Target, untilQuiet } from "./measure.ts";
import type { TemporaryStack } from "./temporary-stack.ts";

/** A part of which one works at a time in an installation, and the most it does. */
export interface SerialPart {
  name: string;
  perSecond: number;
}

const EVENTS = 20_000;
const LIMIT_MS = 300_000;
const POLL_MS = 20;
const BATCH = 200;
const WRITERS = 16;
/** Contacts there are in the segment of a campaign. */
const CITY = "Nowhere";
/** The processes besides the gateway and the one that is measured are stopped, so that each part has the machine. */
const STOPPABLE = processes
  .map(({ name }) => name as string)
  .filter((name) => name !== "gateway" && name !== "contact");

/**
 * How many events a second the parts take that do not become faster with more replicas: the relay of a process, which one replica leads,
 * and consumers whose effects are one transaction after the other. Each has a backlog of events of contacts that were changed, and the two cores
 * of Postgres, NATS and its own process.
 */
export async function measureSerialParts(target: Target, own: TemporaryStack): Promise<SerialPart[]> {
  const client = new Client({ connectionString: own.postgres.url });
  await client.connect();
  const receiver = await startReceiver();
  const signal = (names: string[], name: NodeJS.Signals) => {
    for (const process_ of names) process.kill(own.stack.process(process_).pid, name);
  };
  try {
    const triggers = ["svc.lead_post_save_update"];
    const hook = { name: "Serial", webhookUrl: receiver.url, triggers };
    const { hook: webhook } = await callApi(target, "POST", "hooks/new", hook);
    const filters = [{ field: "city", object: "lead", operator: "=", filter: CITY }];
    const { list } = await callApi(target, "POST", "segments/new", { name: "Serial", filters });
    await callApi(target, "POST", "campaigns/new", { name: "Serial", lists: [{ id: list.id }] });
    await changeContacts(target);
    await untilQuiet(target.pids);
    signal([...STOPPABLE, "contact"], "SIGSTOP");
    await copyEvents(client);
    const drained = async (durable: string, names: string[]) => {
      const startedAt = performance.now();
      signal(names, "SIGCONT");
      await untilDrained(own.natsUrl, "CONTACT", durable);
      signal(names, "SIGSTOP");
      return perSecondSince(startedAt);
    };
    const startedAt = performance.now();
    signal(["contact"], "SIGCONT");
    await until(async () => (await count(client, "select count(*) from contact.outbox_waiting")) === 0);
    const relay = perSecondSince(startedAt);
    await untilDrained(own.natsUrl, "CONTACT", "contact-segments");
    const segments = perSecondSince(startedAt);
    signal(["contact"], "SIGSTOP");
    const audit = await drained("reporting-audit-contact", ["reporting"]);
    signal(["contact"], "SIGCONT");
    const fanOut = await drained("webhook-fan-out", ["webhook"]);
    await makeMembers(target, client);
    signal(["contact"], "SIGSTOP");
    const projection = await drained("campaign-projection-contact", ["campaign"]);
    const ofOneTotal = await changesOfOneTotal(own.postgres.url);
    signal([...STOPPABLE, "contact"], "SIGCONT");
    await callApi(target, "DELETE", `hooks/${webhook.id}/delete`);
    return [
      { name: "events that the relay of a process publishes", perSecond: relay },
      { name: "changed contacts that are published and that the segments follow", perSecond: segments },
      { name: "changed contacts that the audit notes", perSecond: audit },
      { name: "changed contacts with a delivery planned", perSecond: fanOut },
      {
        name: "new contacts that a projection takes, with a campaign that each enters",
        perSecond: projection,
      },
      { name: "changes of one total by 16 writers", perSecond: ofOneTotal },
    ];
  } finally {
    signal([...STOPPABLE, "contact"], "SIGCONT");
    await receiver.stop();
    await client.end();
  }
}

/** Changes some contacts, so that there are events to copy. */
async function changeContacts(target: Target): Promise<void> {
  const { contacts } = await callApi(target, "GET", `contacts?limit=${BATCH}&orderBy=id&minimal=1`);
  const items = Object.values(contacts as Record<string, { id: number }>).map(({ id }) => ({
    id,
    position: `Serial ${Date.now() % 10_000}`,
  }));
  await callApi(target, "PATCH", "contacts/batch/edit", items);
}

/** Makes contacts that are in the segment of a campaign: their events, and those of their membership, wait for it. */
async function makeMembers(target: Target, client: Client): Promise<void> {
  for (let made = 0; made < EVENTS; made += BATCH) {
    const items = Array.from({ length: BATCH }, (_, index) => ({
      email: `serial-${made + index}@example.com`,
      city: CITY,
    }));
    await callApi(target, "POST", "contacts/batch/new", items);
  }
  const members =
    "select count(*) from contact.segment_contacts m join contact.contacts c on c.id = m.contact_id";
  await until(async () => (await count(client, `${members} where c.city = '${CITY}'`)) === EVENTS);
  await until(async () => (await count(client, "select count(*) from contact.outbox_waiting")) === 0);
}

/** Each writer commits changes of the same total, one after the other. */
async function changesOfOneTotal(databaseUrl: string): Promise<number> {
  const startedAt = performance.now();
  const write = async () => {
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    try {
      for (let change = 0; change < EVENTS / WRITERS; change += 1)
        await client.query("insert into contact.totals (of, key, change) values ('serial', 0, 1)");
    } finally {
      await client.end();
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  return perSecondSince(startedAt);
}

/** Writes the events of the latest changes into the outbox again and again, each as a new event. */
async function copyEvents(client: Client): Promise<void> {
  await client.query(
    `with latest as (
       select subject, aggregate_id, aggregate_version, payload, actor from contact.outbox
       where subject = 'tidings.contact.contact.updated' order by id desc limit ${BATCH}),
     copied as (
       insert into contact.outbox (subject, aggregate_id, aggregate_version, payload, actor, published_at)
       select l.subject, l.aggregate_id, l.aggregate_version, l.payload, l.actor, now()
       from latest l, generate_series(1, $1 / ${BATCH}) returning id)
     insert into contact.outbox_waiting (id) select id from copied`,
    [EVENTS],
  );
}

function perSecondSince(startedAt: number): number {
  return (EVENTS * 1_000) / (performance.now() - startedAt);
}

async function untilDrained(natsUrl: string, stream: string, durable: string): Promise<void> {
  const nats = await connect({ servers: natsUrl });
  try {
    const manager = await jetstreamManager(nats);
    await until(async () => {
      const { num_pending, num_ack_pending } = await manager.consumers.info(stream, durable);
      return num_pending + num_ack_pending === 0;
    });
  } finally {
    await nats.close();
  }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const limitAt = performance.now() + LIMIT_MS;
  while (!(await isSo())) {
    if (performance.now() > limitAt) throw new Error("a serial part did not end its backlog in time");
    await pause(POLL_MS);
  }
}

async function count(client: Client, text: string): Promise<number> {
  const { rows } = await client.query(text);
  return Number(rows[0].count);
}
