import assert from "node:assert/strict";
import { request } from "node:http";
import { after, test } from "node:test";
import { publicTokens } from "@tidings/secrets/public-token";
import { generateSecretKey } from "@tidings/secrets/secret-box";
import { eventually } from "@tidings/testkit/eventually";
import type { Entity } from "./client.ts";
import { PDF } from "./multipart.ts";
import { make } from "./people.ts";
import { query } from "./query.ts";
import { exchange } from "./raw-http.ts";
import { scrapeProcess } from "./scrape.ts";
import { startTestStack } from "./stack.ts";
import { uploader } from "./uploader.ts";
import { type Answer, BROWSER, type Sent, visitor } from "./visitor.ts";

/** Assets as visitors download them, through the gateway. */

const TOKEN_KEY = generateSecretKey();
const stack = await startTestStack({
  env: {
    gateway: {
      TRUSTED_PROXIES: "127.0.0.1/32",
      TRACKING_RATE: "0",
      DOWNLOAD_RATE: "0",
      PUBLIC_RATE_LIMIT: "0",
      // A busy machine refuses none of the downloads that come at the same time.
      PUBLIC_REQUESTS_IN_FLIGHT: "2000",
    },
    content: { PUBLIC_TOKEN_KEYS: TOKEN_KEY },
  },
});
after(() => stack.stop());
const { api, baseUrl, database } = stack;
const upload = uploader(baseUrl);

const TEXT = "0123456789".repeat(10);
let count = 0;

interface Asset extends Entity {
  path: string;
}

const withPath = (asset: Entity): Asset => ({ ...asset, path: new URL(String(asset.downloadUrl)).pathname });
const newAsset = async (members: object = {}, name = "text.txt", content: string | Buffer = TEXT) => {
  const file = (await upload.file("assets", name, content)).name;
  const own = { title: `Asset ${++count}`, isPublished: true, storageLocation: "local", file };
  return withPath(await make(api, "assets", "asset", { ...own, ...members }));
};
const newRemote = async (file: string, members: object = {}) => {
  const own = { title: `Asset ${++count}`, isPublished: true, storageLocation: "remote", file };
  return withPath(await make(api, "assets", "asset", { ...own, ...members }));
};
const get = (path: string, headers: Record<string, string> = {}, sent: Sent = {}): Promise<Answer> =>
  visitor(baseUrl).ask(path, { ...sent, headers });
const countsOf = async ({ id }: Entity) => {
  const { asset } = (await api("GET", `assets/${id}`)).body as unknown as { asset: Entity };
  return [asset.downloadCount, asset.uniqueDownloadCount];
};
const downloadsOf = ({ id }: Entity) =>
  query(database, `select * from content.asset_downloads where asset_id = ${id} order by id`);
const codesOf = async (asset: Entity) => (await downloadsOf(asset)).map(({ code }) => code);

// The first ids for contacts come from the contact service.
const first = await newAsset();
await eventually(async () => assert.equal((await get(first.path)).status, 200));

test("GET /asset/<id>:<alias> sends the file with its type, length, name and tag, in a sandbox", async () => {
  const asset = await newAsset({ title: "The Größe" });
  const browser = visitor(baseUrl);
  const { status, headers, text } = await browser.ask(asset.path);
  assert.deepEqual([status, text], [200, TEXT]);
  assert.equal(headers["content-type"], "text/plain");
  assert.equal(headers["content-length"], "100");
  assert.equal(headers["content-disposition"], "attachment; filename*=UTF-8''The%20Gr%C3%B6%C3%9Fe.txt");
  assert.equal(headers["accept-ranges"], "bytes");
  assert.match(String(headers.etag), /^"[0-9a-f]{32}"$/);
  assert.equal(headers["cache-control"], "private, no-cache");
  assert.equal(headers["content-security-policy"], "default-src 'none'; sandbox");
  assert.equal(headers["cross-origin-resource-policy"], "cross-origin");
  assert.equal(headers["x-content-type-options"], "nosniff");
  assert.equal(headers["x-robots-tag"], "noindex, nofollow, noarchive");
  assert.ok(browser.cookies.has("svc_device_id") && browser.cookies.has("mtc_id"));
  assert.equal(browser.cookies.has("svc_referer_id"), false, "a download is no hit");
  const open = await newAsset({ disallow: false });
  assert.equal((await get(open.path)).headers["x-robots-tag"], undefined);
});

test("files that browsers show, and every file with stream=1, are inline", async () => {
  const type = async (path: string) => String((await get(path)).headers["content-disposition"]).split(";")[0];
  const [pdf, text] = [await newAsset({}, "guide.pdf", PDF), await newAsset()];
  assert.equal(await type(pdf.path), "inline");
  assert.equal(await type(text.path), "attachment");
  assert.equal(await type(`${text.path}?stream=1`), "inline");
  assert.equal(await type(`${text.path}?stream=0`), "attachment");
});

test("a download has its visitor, referer and UTM tags, and is unique once for each visitor", async () => {
  const asset = await newAsset();
  const browser = visitor(baseUrl);
  const headers = { referer: "https://shop.example/a", "x-forwarded-for": "93.184.216.34" };
  await browser.ask(`${asset.path}?utm_source=letter&utm_medium=mail&utm_campaign=c`, { headers });
  await browser.ask(asset.path);
  const [row, again] = await downloadsOf(asset);
  const contactId = Number(browser.cookies.get("mtc_id"));
  const expected = {
    contact_id: contactId,
    code: 200,
    ip: "93.184.216.34",
    referer: "https://shop.example/a",
    tracking_id: browser.cookies.get("svc_device_id"),
    source: null,
    source_id: null,
    email_id: null,
    utm_campaign: "c",
    utm_content: null,
    utm_medium: "mail",
    utm_source: "letter",
    utm_term: null,
    is_unique: true,
    verdict: "human",
    verdict_reason: null,
  };
  const { id, asset_id, date_download, ...said } = row ?? {};
  assert.deepEqual(said, expected);
  assert.ok(Math.abs(Date.now() - new Date(String(date_download)).getTime()) < 60_000);
  assert.deepEqual([again?.contact_id, again?.is_unique], [contactId, false]);
  assert.deepEqual(await countsOf(asset), [2, 1]);
  await eventually(async () => {
    const { body } = await api("GET", `contacts/${contactId}`);
    const { utmtags } = body.contact as unknown as { utmtags: { utmSource: string }[] };
    assert.equal(utmtags[0]?.utmSource, "letter");
  });
});

test("a path that names no asset is a page with status 404, or 400 where it cannot be read", async () => {
  const { id, alias } = first;
  const unknown = [
    "0:a",
    "-1:a",
    "1e0:a",
    "99999999:a",
    "2147483648:a",
    "99999999999999999999:a",
    "",
    ":a",
    "x",
  ];
  for (const name of [...unknown, `${id}:${alias}/x`, `${id} or 1=1`, `${id};${alias}`]) {
    const { status, headers, text } = await get(`/asset/${name.replaceAll(" ", "%20")}`);
    assert.equal(status, 404, name);
    assert.match(text, /<h1>Not found<\/h1>/);
    assert.match(String(headers["content-type"]), /^text\/html/);
  }
  for (const name of [
    "%ff",
    "99999999:%ff",
    "%00",
    "..%2f..%2fetc%2fpasswd",
    "x".repeat(5_000),
    "1%3A%0d%0aa",
  ]) {
    const { status, text } = await get(`/asset/${name}`);
    assert.ok([400, 404, 414].includes(status), `${status} ${name}`);
    assert.doesNotMatch(text, /select|etc\/passwd|node_modules|URIError/);
  }
  assert.equal((await get(first.path, {}, { method: "POST" })).status, 405);
});

test("another alias, and none, lead to the right address and are not recorded", async () => {
  const asset = await newAsset();
  for (const end of ["", ":", ":other", ":%20", ":a:b", `:${String(asset.alias).toUpperCase()}`]) {
    const { status, headers } = await get(`/asset/${asset.id}${end}?ct=x&utm_source=a`);
    assert.deepEqual([status, headers.location], [301, `${asset.path}?ct=x&utm_source=a`], end);
  }
  assert.deepEqual(await downloadsOf(asset), []);
});

test("an asset that is not published is refused with 401: recorded, and not counted", async () => {
  const closed = await newAsset({ isPublished: false });
  const later = await newAsset({ publishUp: "2999-01-01 00:00:00" });
  const over = await newAsset({ publishDown: "2020-01-01 00:00:00" });
  const remote = await newRemote("https://files.example/a.pdf", { isPublished: false });
  for (const asset of [closed, later, over, remote]) {
    const { status, headers, text } = await get(asset.path);
    assert.equal(status, 401);
    assert.match(text, /This file is not available\./);
    assert.match(String(headers["content-type"]), /^text\/html/);
    assert.equal(headers.etag, undefined);
    assert.deepEqual(await codesOf(asset), [401]);
    assert.deepEqual(await countsOf(asset), [0, 0]);
  }
  assert.equal((await get(`/asset/${closed.id}:other`)).status, 401, "its alias is not said");
  const browser = visitor(baseUrl);
  assert.equal((await browser.ask(closed.path)).status, 401);
  await api("PATCH", `assets/${closed.id}/edit`, { isPublished: true });
  assert.equal((await browser.ask(closed.path)).status, 200);
  assert.deepEqual(await countsOf(closed), [1, 1]);
});

test("a remote asset leads to its address, and is counted", async () => {
  const url = "https://files.example/a%20b.pdf?c=d&e=%0d%0aX: y";
  const asset = await newRemote(url.replace(" ", "%20"));
  const { status, headers } = await get(asset.path);
  assert.deepEqual([status, headers.location], [302, "https://files.example/a%20b.pdf?c=d&e=%0d%0aX:%20y"]);
  assert.equal(headers["cache-control"], "no-store");
  assert.deepEqual([await codesOf(asset), await countsOf(asset)], [[302], [1, 1]]);
  await query(database, `update content.assets set file = 'javascript:alert(1)' where id = ${asset.id}`);
  assert.equal((await get(asset.path)).status, 404);
  assert.deepEqual(await codesOf(asset), [302]);
});

test("HEAD answers the headers alone, and counts nothing", async () => {
  const asset = await newAsset();
  const { headers } = await get(asset.path);
  const head = await get(asset.path, { range: "bytes=5-6" }, { method: "HEAD" });
  assert.deepEqual([head.status, head.text, head.headers["content-length"]], [200, "", "100"]);
  for (const name of ["content-type", "content-disposition", "etag", "accept-ranges", "cache-control"])
    assert.equal(head.headers[name], headers[name], name);
  const closed = await newAsset({ isPublished: false });
  assert.equal((await get(closed.path, {}, { method: "HEAD" })).status, 401);
  const remote = await newRemote("https://files.example/a.pdf");
  assert.equal((await get(remote.path, {}, { method: "HEAD" })).status, 302);
  assert.deepEqual([await codesOf(asset), await codesOf(closed), await codesOf(remote)], [[200], [], []]);
});

test("a file that the browser has already is a 304, which counts nothing", async () => {
  const asset = await newAsset();
  const { headers } = await get(asset.path);
  const etag = String(headers.etag);
  for (const tags of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
    const answer = await get(asset.path, { "if-none-match": tags });
    assert.deepEqual([answer.status, answer.text, answer.headers.etag], [304, "", etag]);
    assert.equal(answer.headers["set-cookie"], undefined);
  }
  assert.equal((await get(asset.path, { "if-none-match": '"other"' })).status, 200);
  assert.deepEqual(await countsOf(asset), [2, 2]);
  const { name } = await upload.file("assets", "b.txt", `${TEXT}!`);
  await api("PATCH", `assets/${asset.id}/edit`, { file: name });
  assert.equal((await get(asset.path, { "if-none-match": etag })).status, 200, "it has another file now");
});

test("a byte range is answered alone; only one from the first byte on is a download", async () => {
  const asset = await newAsset();
  const browser = visitor(baseUrl);
  const ask = (range: string, headers = {}) => browser.ask(asset.path, { headers: { range, ...headers } });
  const parts: [string, string, string][] = [
    ["bytes=0-4", "01234", "bytes 0-4/100"],
    ["bytes=5-14", "5678901234", "bytes 5-14/100"],
    ["bytes=95-", "56789", "bytes 95-99/100"],
    ["bytes=-3", "789", "bytes 97-99/100"],
    ["bytes=90-5000", "0123456789", "bytes 90-99/100"],
  ];
  for (const [range, bytes, contentRange] of parts) {
    const { status, headers, text } = await ask(range);
    assert.deepEqual([status, text, headers["content-range"]], [206, bytes, contentRange], range);
    assert.equal(headers["content-length"], String(bytes.length));
    assert.equal(headers["content-type"], "text/plain");
  }
  assert.deepEqual([await codesOf(asset), await countsOf(asset)], [[200], [1, 1]]);
  for (const range of ["bytes=100-", "bytes=1000-2000", "bytes=-0"]) {
    const { status, headers, text } = await ask(range);
    assert.deepEqual([status, headers["content-range"], text], [416, "bytes */100", ""], range);
  }
  assert.deepEqual(await countsOf(asset), [1, 1]);
  const whole = ["bytes=0-1,3-4", "bytes=9-5", "lines=1-2", "bytes=x", ""];
  for (const range of whole) {
    const { status, headers, text } = await ask(range);
    assert.deepEqual([status, headers["content-range"], text], [200, undefined, TEXT], range);
  }
  assert.deepEqual(await countsOf(asset), [1 + whole.length, 1]);
  const etag = String((await browser.ask(asset.path)).headers.etag);
  assert.equal((await ask("bytes=5-9", { "if-range": etag })).text, "56789");
  assert.equal((await ask("bytes=5-9", { "if-range": '"older"' })).text, TEXT);
  assert.equal((await ask("bytes=5-9", { "if-range": "Tue, 01 Jan 2030 00:00:00 GMT" })).text, TEXT);
});

test("a header with a thousand ranges sends the file once, and a hundred requests for ranges get theirs", async () => {
  const content = "x".repeat(2_000_000);
  const asset = await newAsset({}, "large.txt", content);
  const many = Array.from({ length: 1_000 }, (_, index) => `${index}-`).join(",");
  const once = await get(asset.path, { range: `bytes=${many}` });
  assert.deepEqual([once.status, once.text.length], [200, content.length]);
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      get(asset.path, { range: `bytes=${index + 1}-${index + 1_000}` }),
    ),
  );
  assert.ok(answers.every(({ status, text }) => status === 206 && text.length === 1_000));
  assert.deepEqual(await countsOf(asset), [1, 1]);
});

test("50 downloads by 5 browsers at the same time are 50 downloads, 5 of them unique", async () => {
  const assets = [await newAsset(), await newAsset()];
  const devices = Array.from({ length: 5 }, (_, index) => `downloadingbrowser0000${index}`);
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      Promise.all(assets.map(({ path }) => get(path, { cookie: `svc_device_id=${devices[index % 5]}` }))),
    ),
  );
  for (const { status, text } of answers.flat()) assert.deepEqual([status, text], [200, TEXT]);
  for (const asset of assets) {
    assert.deepEqual(await countsOf(asset), [50, 5]);
    const rows = await downloadsOf(asset);
    assert.equal(rows.length, 50);
    assert.equal(rows.filter(({ is_unique }) => is_unique).length, 5);
    assert.equal(new Set(rows.map(({ contact_id }) => contact_id)).size, 5);
  }
});

test("a person who may not be known is counted and leaves no row; a machine leaves a row and is not counted", async () => {
  const asset = await newAsset();
  for (const headers of [{ dnt: "1" }, { "sec-gpc": "1" }] as Record<string, string>[]) {
    const person = visitor(baseUrl);
    assert.equal((await person.ask(asset.path, { headers })).text, TEXT);
    assert.equal(person.cookies.size, 0);
  }
  assert.deepEqual([await countsOf(asset), await downloadsOf(asset)], [[2, 0], []]);
  const machine = visitor(baseUrl, { agent: "Googlebot/2.1 (+http://www.google.com/bot.html)" });
  assert.equal((await machine.ask(asset.path)).text, TEXT);
  assert.equal(machine.cookies.size, 0);
  const [row] = await downloadsOf(asset);
  assert.deepEqual(
    [row?.contact_id, row?.verdict, row?.verdict_reason, row?.is_unique],
    [null, "machine", "agent", false],
  );
  assert.deepEqual(await countsOf(asset), [2, 0]);
});

test("a signed link in a message gives the contact, the channel and the email of a download", async () => {
  const asset = await newAsset();
  const { id } = await make(api, "contacts", "contact", { firstname: "Ada" });
  const tokenOf = (key: string) => publicTokens([key], "click").sign(`${id} email 7 7`);
  const browser = visitor(baseUrl);
  await browser.ask(`${asset.path}?ct=${tokenOf(TOKEN_KEY)}`);
  await get(`${asset.path}?ct=${tokenOf(generateSecretKey())}`);
  const [row, forged] = await downloadsOf(asset);
  const sourceOf = (one: typeof row) => [one?.source, one?.source_id, one?.email_id];
  assert.deepEqual([row?.contact_id, ...sourceOf(row)], [id, "email", 7, 7]);
  assert.notEqual(forged?.contact_id, id);
  assert.deepEqual(sourceOf(forged), [null, null, null]);
});

test("a segment finds the contacts that downloaded an asset, and none that was refused", async () => {
  const asset = await newAsset();
  const closed = await newAsset({ isPublished: false });
  const filter = {
    glue: "and",
    field: "lead_asset_download",
    object: "behaviors",
    type: "multiselect",
    operator: "in",
  };
  const segmentOf = ({ id, title }: Entity) =>
    make(api, "segments", "list", { name: title, filters: [{ ...filter, properties: { filter: [id] } }] });
  const [segment, refused] = [await segmentOf(asset), await segmentOf(closed)];
  const browser = visitor(baseUrl);
  await browser.ask(closed.path);
  await browser.ask(asset.path);
  const contactId = String(browser.cookies.get("mtc_id"));
  const members = async ({ alias }: Entity) =>
    Object.keys((await api("GET", `contacts?search=segment:${alias}`)).body.contacts);
  await eventually(async () => assert.deepEqual(await members(segment), [contactId]));
  assert.deepEqual(await members(refused), []);
});

test("downloads go with the contact that is deleted", async () => {
  const asset = await newAsset();
  const browser = visitor(baseUrl);
  await browser.ask(asset.path);
  const contactId = browser.cookies.get("mtc_id");
  await eventually(async () => assert.equal((await api("GET", `contacts/${contactId}`)).status, 200));
  await api("DELETE", `contacts/${contactId}/delete`);
  await eventually(async () => assert.deepEqual(await downloadsOf(asset), []));
  assert.deepEqual(await countsOf(asset), [1, 1]);
});

test("titles and aliases put nothing into a header", async () => {
  const title = 'a"; filename="b.exe\r\nSet-Cookie: c=d\u202Efdp';
  const asset = await newAsset({ title, alias: "x\r\nLocation: //evil.example" });
  const { status, headers } = await get(asset.path);
  assert.equal(status, 200);
  assert.match(String(headers["content-disposition"]), /^attachment; filename\*=UTF-8''[\w.%-]+$/);
  assert.doesNotMatch(String(headers["content-disposition"]), /%0|%22|%E2%80%AE/);
  assert.doesNotMatch(String(headers["set-cookie"]), /c=d/);
  const moved = await get(`/asset/${asset.id}:%0d%0aX:y?a=%0d%0ab`);
  assert.deepEqual([moved.status, moved.headers.location], [301, `${asset.path}?a=%0d%0ab`]);
});

test("headers and parameters that cannot be read are no error", async () => {
  const asset = await newAsset();
  for (const range of [
    "bytes=",
    "bytes=-",
    `bytes=${"9".repeat(4_000)}-`,
    "bytes=0-\u00ff",
    "=",
    "bytes=1-0",
  ]) {
    const { status } = await get(asset.path, { range });
    assert.ok([200, 416].includes(status), `${status} ${range.slice(0, 20)}`);
  }
  for (const search of [
    "%ff",
    "utm_source=%00%ff",
    "ct=%",
    "stream[]=1",
    `a=${"b".repeat(8_000)}`,
    "=&=&?",
    "ct=a.b",
  ])
    assert.equal((await get(`${asset.path}?${search}`)).status, 200, search.slice(0, 20));
  const referer = `https://shop.example/${"r".repeat(5_000)}`;
  assert.equal((await get(asset.path, { referer, "if-none-match": ",,,", "if-range": "x" })).status, 200);
  assert.match(
    await exchange(baseUrl, `GET ${asset.path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx`),
    /^HTTP\/1\.1 400/,
  );
});

test("a client that leaves in the middle of a file holds up nothing", async () => {
  const asset = await newAsset({}, "film.txt", "y".repeat(5_000_000));
  const { hostname, port } = new URL(baseUrl);
  const leave = () =>
    new Promise<void>((resolve) => {
      const headers = { "user-agent": BROWSER };
      const outgoing = request({ hostname, port, path: asset.path, headers }, (incoming) => {
        incoming.once("data", () => {
          incoming.destroy();
          resolve();
        });
      });
      outgoing.end();
    });
  await Promise.all(Array.from({ length: 20 }, leave));
  assert.equal((await get(asset.path)).text.length, 5_000_000);
  assert.deepEqual(await countsOf(asset), [21, 21]);
});

test("a file that the store has lost is a 404, and counts nothing", async () => {
  const asset = await newAsset();
  await query(database, `update content.assets set file = '${"0".repeat(32)}.txt' where id = ${asset.id}`);
  const { status, text } = await get(asset.path);
  assert.equal(status, 404);
  assert.match(text, /<h1>Not found<\/h1>/);
  assert.deepEqual([await countsOf(asset), await downloadsOf(asset)], [[0, 0], []]);
});

test("downloads are measured by their outcome", async () => {
  const { samples } = await scrapeProcess(stack, "content");
  const outcomes = samples.filter(({ name }) => name === "tidings_asset_downloads_total");
  assert.deepEqual(outcomes.map(({ labels }) => labels.outcome).toSorted(), [
    "continued",
    "missing",
    "redirected",
    "refused",
    "sent",
    "unchanged",
    "unsatisfiable",
  ]);
});
