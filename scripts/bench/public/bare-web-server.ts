// The server that the public web is compared with: node:http and pg, the same rows in the same Postgres, nothing checked.
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { insertFacts } from "@tidings/content/visit/fact-table";
import { newFactId } from "@tidings/content/visit/hit";
import { HIT_COLUMNS } from "@tidings/content/visit/visit-tables";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import { Pool } from "pg";
import { FORM_FIELDS, PAGE_FIELDS, PAGE_HTML } from "./site.ts";

const { DATABASE_URL, ASSET_FILE = "" } = process.env;
const pool = new Pool({ connectionString: DATABASE_URL, max: 20 });
const insertHits = insertFacts("bench.page_hits", HIT_COLUMNS);
/** Hits that come while two groups are on their way are the next group, as in the product. */
const record = coalesce(
  async (hits: object[]) => void (await pool.query({ ...insertHits, values: [JSON.stringify(hits)] })),
  { atOnce: 2, itemsMax: 500 },
);
const readValues = {
  name: "values",
  text: `select ${PAGE_FIELDS.join(", ")} from bench.contacts where id = $1`,
};
const submit = {
  name: "submit",
  text: `with taken as (
      insert into bench.form_submission_keys (key, submission_id)
      values ($1, nextval('bench.form_submissions_ids')) returning submission_id),
    found as (select id from bench.contacts where lower(email) = $2),
    kept as (
      insert into bench.form_submissions (id, key, form_id, contact_id, ip, tracking_id, date_submitted, results)
      select submission_id, $1, 1, found.id, '127.0.0.1', $3, now(), $4::text::jsonb from taken, found),
    changed as (
      update bench.contacts c set version = version + 1, last_active = now(), date_modified = now(),
        ${FORM_FIELDS.map((name) => `${name} = x.${name}`).join(", ")}
      from found, jsonb_to_record($4::text::jsonb) as x (${FORM_FIELDS.map((name) => `${name} text`).join(", ")})
      where c.id = found.id returning c.id, c.version)
    insert into bench.outbox (subject, aggregate_id, aggregate_version, payload)
    select subject, id, version, convert_to($4::text, 'utf8') from changed,
      unnest(array['contact.updated', 'form.submitted', 'visitor.seen']) as subject`,
};

const server = createServer((request, response) => {
  answer(request, response).catch((error) => end(response, 500, "text/plain", String(error)));
});
server.listen(0, "127.0.0.1", () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.once("disconnect", () => process.exit(0));
// An index by which the contact of an address is found, as ours has one.
await pool.query("create index if not exists bench_emails on bench.contacts (lower(email))");

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url = "" } = request;
  if (url.startsWith("/asset/")) return void createReadStream(ASSET_FILE).pipe(response);
  const device = /svc_device_id=(\w+)/.exec(request.headers.cookie ?? "")?.[1] ?? "";
  if (url === "/mtc/event") {
    const sent = JSON.parse((await buffer(request)).toString());
    await record("hits", rowOf(request, device, sent.page_url, sent.page_title));
    return end(response, 200, "application/json", '{"success":1}');
  }
  if (url.startsWith("/form/")) {
    await takeSubmission(new URLSearchParams((await buffer(request)).toString()), device);
    return end(response, 200, "application/json", '{"success":1}');
  }
  const [{ rows }] = await Promise.all([
    pool.query({ ...readValues, values: [numberOf(device)] }),
    record("hits", rowOf(request, device, url, "News")),
  ]);
  const values = rows[0];
  const page = PAGE_HTML.replace(/\{contactfield=(\w+)[^}]*\}/g, (_token, name) => values[name] ?? "");
  end(response, 200, "text/html", page);
}

async function takeSubmission(sent: URLSearchParams, device: string): Promise<void> {
  const values = Object.fromEntries(FORM_FIELDS.map((name) => [name, sent.get(`svcform[${name}]`)]));
  await pool.query({
    ...submit,
    values: [randomUUID(), values.email?.toLowerCase(), device, JSON.stringify(values)],
  });
}

function rowOf(request: IncomingMessage, device: string, url: string, title: string): object {
  const { "user-agent": agent } = request.headers;
  return {
    ...{
      id: newFactId(Date.now()).id,
      version: 1,
      contact_id: numberOf(device),
      date_hit: new Date().toISOString(),
    },
    ...{ ip: "127.0.0.1", code: 200, url, url_title: title, user_agent: agent, page_language: "en" },
    ...{ browser_languages: ["en"], tracking_id: device, query: { page_url: url }, is_unique: false },
    verdict: "human",
  };
}

function numberOf(device: string): number {
  return Number(device.slice("bench".length));
}

function end(response: ServerResponse, status: number, type: string, text: string): void {
  const bytes = Buffer.from(text);
  response.writeHead(status, { "content-type": type, "content-length": bytes.length });
  response.end(bytes);
}
