import { setTimeout as pause } from "node:timers/promises";
import type { Client } from "pg";
import { callApi } from "../call-api.ts";
import type { Target } from "../measure.ts";
import { waitForBuild } from "../segment-speed.ts";

/** A segment with all contacts. Its emails differ in their numbers only. */
export interface Readers {
  segmentId: number;
  count: number;
}

const LINKS = 20;
/** The addresses that its links lead to. */
export const ARTICLE = /https:\/\/shop\.example\/news\/\d+/g;
const PROSE = "Everybody likes news that was written for them, and reads it with a cup of tea. ";
/** A mail of about 8 kB once its links are tracked and its text part is made, with 20 links and three values of its reader. */
const HTML = `<!doctype html><html lang="en"><head><title>News</title></head><body>
<h1>Hello {contactfield=firstname|you} {contactfield=lastname} from {contactfield=city|your city}</h1>
${Array.from({ length: LINKS }, (_, index) => `<p>${PROSE}<a href="https://shop.example/news/${index}">Article ${index}</a></p>`).join("\n")}
<p><a href="{unsubscribe_url}">Unsubscribe</a></p></body></html>`;

const POLL_MS = 10;
const LIMIT_MS = 900_000;

export async function gatherReaders(target: Target): Promise<Readers> {
  const filters = [{ field: "email", object: "lead", operator: "!empty" }];
  const { list } = await callApi(target, "POST", "segments/new", { name: "Bench readers", filters });
  const { added } = await waitForBuild(target, list.id);
  return { segmentId: Number(list.id), count: added };
}

/** Publishes an email: to the segment, or to single contacts where there is none. Returns its id. */
export async function publishEmail(
  target: Target,
  readers: Readers | undefined,
  members: object = {},
): Promise<number> {
  const { email } = await callApi(target, "POST", "emails/new", {
    ...{ name: "Bench news", subject: "News for {contactfield=firstname|you}", customHtml: HTML },
    ...(readers ? { emailType: "list", lists: [readers.segmentId] } : { emailType: "template" }),
    ...{ isPublished: true, ...members },
  });
  return Number(email.id);
}

/** A send to the segment that was begun. */
export interface Broadcast {
  id: string;
  emailId: number;
  /** Ends with the answer of the API: when all is sent, or after 20 s. */
  answered: Promise<unknown>;
}

/** Begins to send an email to its segment, to `limit` contacts at most. */
export async function beginBroadcast(
  target: Target,
  client: Client,
  emailId: number,
  limit?: number,
): Promise<Broadcast> {
  const { rows } = await client.query("select coalesce(max(id::text), '') as last from content.broadcasts");
  const answered = callApi(target, "POST", `emails/${emailId}/send`, limit === undefined ? {} : { limit });
  // It is awaited later; until then its failure shows below.
  answered.catch(() => undefined);
  const begun = `select id from content.broadcasts where email_id = ${emailId} and id::text > '${rows[0].last}'`;
  const [{ id }] = await polled(client, begun, (found) => found.length > 0);
  return { id, emailId, answered };
}

/** Waits until the condition on `state` and `is_over` of a broadcast holds. */
export async function untilBroadcast(client: Client, { id }: Broadcast, condition: string): Promise<void> {
  const text = `select from (select state, finished_at is not null as is_over from content.broadcasts where id = '${id}') b where ${condition}`;
  await polled(client, text, (found) => found.length > 0);
}

/** Cancels what was not begun, and waits until the rest is decided. */
export async function cancelBroadcast(target: Target, client: Client, broadcast: Broadcast): Promise<void> {
  await callApi(target, "POST", `emails/${broadcast.emailId}/sends/${broadcast.id}/cancel`);
  await untilBroadcast(client, broadcast, "is_over");
  await broadcast.answered;
}

async function polled(client: Client, text: string, isEnough: (rows: { id: string }[]) => boolean) {
  const giveUpAt = Date.now() + LIMIT_MS;
  for (;;) {
    const { rows } = await client.query(text);
    if (isEnough(rows)) return rows;
    if (Date.now() > giveUpAt) throw new Error(`in vain: ${text}`);
    await pause(POLL_MS);
  }
}
