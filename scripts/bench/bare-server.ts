// The server that our API is compared with: node:http and pg, no checks, no events sent, the same answers from the same data.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { Pool } from "pg";
import { type BareRow, bareContactWriter } from "./bare-contact-json.ts";
import { type BareResource, bareResource } from "./bare-resource.ts";
import {
  type BareStatement,
  countAll,
  getOne,
  getPage,
  insertBatch,
  insertOne,
  patchField,
} from "./bare-statements.ts";
import { SAMPLE_FIELDS, type SampleContact } from "./sample-contact.ts";
import { SAMPLE_RESOURCES } from "./sample-resources.ts";

const PATH = "/api/contacts";
const RAW_TEXT = { getTypeParser: () => (text: string) => text };

const pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
const fields = await query(
  { name: "fields", text: "select * from contact.fields where object = 'lead' order by \"order\"" },
  [],
);
const contactJson = bareContactWriter(fields);

const others = SAMPLE_RESOURCES.map(bareResource);

const server = createServer((request, response) => {
  answer(request, response).catch((error) => response.destroy(error)); // the load generator counts it as an error
});
server.listen(0, "127.0.0.1", () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.once("disconnect", () => process.exit(0));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url = "" } = request;
  const other = others.find(({ resource }) => url.startsWith(`/api/${resource.path}`));
  if (other) return answerOther(other, request, response);
  if (method === "GET" && url.startsWith(`${PATH}?`)) return end(response, 200, await page(url));
  if (method === "GET") return end(response, 200, await one(Number(url.slice(PATH.length + 1))));
  const body = await buffer(request);
  if (method === "PATCH")
    return end(response, 200, await patch(Number.parseInt(url.slice(PATH.length + 1), 10), body));
  if (url === `${PATH}/new`) return end(response, 201, await create(body));
  return end(response, 201, await createBatch(body));
}

async function answerOther(
  { resource, get, page: pageOf, count, patch: patchOne, insert }: BareResource,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method, url = "" } = request;
  const { path, one: single, many } = resource;
  const rest = url.slice(`/api/${path}`.length);
  if (method === "GET" && rest.startsWith("?")) {
    const limit = new URLSearchParams(rest).get("limit");
    const [rows, [counted]] = await Promise.all([query(pageOf, [limit]), query(count, [])]);
    const list = rows.map(({ json }) => json).join();
    return end(response, 200, `{"total":${counted?.total},"${many}":[${list}]}`);
  }
  const id = Number.parseInt(rest.slice(1), 10);
  if (method === "GET") {
    const [row] = await query(get, [id]);
    return end(response, 200, `{"${single}":${row?.json}}`);
  }
  const body = await buffer(request);
  const sent = JSON.parse(body.toString());
  if (method === "PATCH") {
    const [row] = await query(patchOne, [id, sent.name, body]);
    return end(response, 200, `{"${single}":${row?.json}}`);
  }
  const payloads = sent.map((item: object) => Buffer.from(JSON.stringify(item)));
  const rows = await query(insert, [body.toString(), payloads]);
  const list = rows.map(({ json }) => json).join();
  end(response, 201, `{"${many}":[${list}],"statusCodes":[${rows.map(() => 201).join()}]}`);
}

async function one(id: number): Promise<string> {
  const [row] = await query(getOne, [id]);
  return single(row);
}

async function page(url: string): Promise<string> {
  const parameters = new URLSearchParams(url.slice(PATH.length + 1));
  const [rows, [count]] = await Promise.all([
    query(getPage, [parameters.get("limit"), parameters.get("start") ?? "0"]),
    query(countAll, []),
  ]);
  const members = rows.map((row) => `"${row.id}":${contactJson(row)}`);
  return `{"total":"${count?.total}","contacts":{${members.join()}}}`;
}

async function patch(id: number, body: Buffer): Promise<string> {
  const [[field, value] = ["", ""]] = Object.entries(JSON.parse(body.toString()));
  const [row] = await query(patchField(field), [id, value, body]);
  return single(row);
}

async function create(body: Buffer): Promise<string> {
  const contact: SampleContact = JSON.parse(body.toString());
  const [row] = await query(insertOne, [...SAMPLE_FIELDS.map((field) => contact[field]), body]);
  return single(row);
}

async function createBatch(body: Buffer): Promise<string> {
  const text = body.toString();
  const contacts: SampleContact[] = JSON.parse(text);
  const payloads = contacts.map((contact) => Buffer.from(JSON.stringify(contact)));
  const rows = await query(insertBatch, [text, payloads]);
  return `{"contacts":[${rows.map(contactJson).join()}],"statusCodes":[${rows.map(() => 201).join()}]}`;
}

function single(row: BareRow | undefined): string {
  if (!row) throw new Error("no such contact");
  return `{"contact":${contactJson(row)}}`;
}

async function query(statement: BareStatement, values: unknown[]): Promise<BareRow[]> {
  const { rows } = await pool.query<BareRow>({ ...statement, values, types: RAW_TEXT });
  return rows;
}

function end(response: ServerResponse, status: number, json: string): void {
  const bytes = Buffer.from(json);
  response.writeHead(status, { "content-type": "application/json", "content-length": bytes.length });
  response.end(bytes);
}
