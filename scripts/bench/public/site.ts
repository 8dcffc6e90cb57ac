import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { callApi } from "../call-api.ts";
import { type Target, untilQuiet } from "../measure.ts";

/** The page, form and asset that the bench publishes, and the browsers that are known there. */
export interface PublicSite {
  /** Browsers 1 to this are known: each is the browser of the contact with its number. */
  devices: number;
  pagePath: string;
  /** The address that the form of ten fields is sent to. */
  submitPath: string;
  /** The e-mail addresses of the first contacts, in their order. */
  emails: string[];
  assetPath: string;
  /** The file of the asset, as it lies in the store. */
  assetFile: string;
}

/** As many as hits that are to reach a segment, each of another contact. */
const DEVICES_MAX = 5_000;
const ASSET_BYTES = 100 * 1024 * 1024;
const PAGE_ALIAS = "bench-landing";

/** The fields of the form, each mapped to the field of contacts of that name. The first one finds the contact. */
export const FORM_FIELDS = [
  "email",
  "firstname",
  "lastname",
  "position",
  "city",
  "phone",
  "mobile",
  "address1",
  "address2",
  "zipcode",
] as const;

/** The fields of contacts that the landing page shows. */
export const PAGE_FIELDS = ["firstname", "lastname", "city", "company", "position"] as const;

const PARAGRAPH = `<p>${"Everybody likes news that was written for them. ".repeat(12)}</p>`;
/** About 4 KB, with five values of its visitor. */
export const PAGE_HTML = `<!doctype html><html lang="en"><head><title>News</title></head><body>
<h1>Hello {contactfield=firstname|you} {contactfield=lastname}</h1>
<p>{contactfield=position} of {contactfield=company|your company} in {contactfield=city|your city}</p>
${PARAGRAPH.repeat(6)}</body></html>`;

/** The same for both sides: tables like ours, with their indexes, for the bare server. */
const BARE_TABLES = `
  create table bench.page_hits (like content.page_hits including all);
  create table bench.form_submissions (like content.form_submissions including all);
  create table bench.form_submission_keys (like content.form_submission_keys including all);
  create sequence bench.form_submissions_ids as integer;`;

/** Publishes a page, a form and a file, lets browsers be known, and makes the tables of the bare server. */
export async function preparePublicSite(
  target: Target,
  { databaseUrl, filesDir, contacts }: { databaseUrl: string; filesDir: string; contacts: number },
): Promise<PublicSite> {
  const devices = Math.min(contacts, DEVICES_MAX);
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(BARE_TABLES);
    await client.query(
      `insert into content.visitor_devices (id, contact_id, shown_contact_id, last_seen)
       select 'bench' || lpad(n::text, 18, '0'), n, n, now() from generate_series(1, $1::integer) n`,
      [devices],
    );
    const { rows } = await client.query(
      "select lower(email) as email from contact.contacts where id <= $1 order by id",
      [devices],
    );
    const page = { title: "News", alias: PAGE_ALIAS, customHtml: PAGE_HTML, isPublished: true };
    await callApi(target, "POST", "pages/new", page);
    const fields = FORM_FIELDS.map((name) => ({
      label: name,
      alias: name,
      type: name === "email" ? "email" : "text",
      mappedObject: "contact",
      mappedField: name,
    }));
    const form = {
      name: "Ten fields",
      isPublished: true,
      postAction: "message",
      postActionProperty: "Thanks",
      fields,
      actions: [],
    };
    const { form: made } = await callApi(target, "POST", "forms/new", form);
    await client.query("vacuum analyze");
    const { downloadUrl } = await publishFile(target, "Large", ASSET_BYTES);
    await untilQuiet(target.pids);
    return {
      devices,
      pagePath: `/${PAGE_ALIAS}`,
      submitPath: `/form/submit/ajax?formId=${made.id}`,
      emails: rows.map(({ email }) => email),
      assetPath: new URL(downloadUrl).pathname,
      assetFile: largeFileIn(filesDir),
    };
  } finally {
    await client.end();
  }
}

/** The cookie of a browser by its number. */
export function cookieOf(device: number): string {
  return `svc_device_id=${deviceIdOf(device)}`;
}

export function deviceIdOf(device: number): string {
  return `bench${String(device).padStart(18, "0")}`;
}

/** Uploads a file of so many bytes, and publishes it. */
export async function publishFile(
  target: Target,
  title: string,
  bytes: number,
): Promise<{ id: number; downloadUrl: string }> {
  const form = new FormData();
  form.append("file", new Blob([Buffer.alloc(bytes, "0123456789\n")]), `${title}.txt`);
  const response = await fetch(`${target.url}/api/files/assets/new`, {
    method: "POST",
    headers: target.headers,
    body: form,
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`a file of ${bytes} bytes was not taken: ${response.status} ${text}`);
  const { file } = JSON.parse(text) as { file: { name: string } };
  const body = { title, isPublished: true, storageLocation: "local", file: file.name };
  const { asset } = await callApi(target, "POST", "assets/new", body);
  return asset;
}

function largeFileIn(folder: string): string {
  const files = readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)));
  const found = files.find((file) => statSync(file).size === ASSET_BYTES);
  if (!found) throw new Error(`the file of the asset is not in ${folder}`);
  return found;
}
