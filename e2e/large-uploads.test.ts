import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile, stat } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { after, test } from "node:test";
import { BOUNDARY, MULTIPART } from "./multipart.ts";
import { assertDescribed } from "./openapi/described.ts";
import { headersOf } from "./raw-http.ts";
import { ADMINISTRATOR, startTestStack } from "./stack.ts";
import { authorizationOf } from "./uploader.ts";

const MEGABYTE = 1024 * 1024;
const SIZE = 400 * MEGABYTE;
/** The most memory that a process may gain during an upload: half of the upload would mean that it is held. */
const GROWTH_MAX = SIZE / 2;

const stack = await startTestStack({ env: { content: { UPLOAD_BYTES_MAX: String(2 * SIZE) } } });
after(() => stack.stop());

/** The most memory a process has had so far, in bytes (proc(5), VmHWM). */
async function peakOf(name: string): Promise<number> {
  const status = await readFile(`/proc/${stack.process(name).pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

function* body(size: number): Generator<Buffer> {
  const disposition = 'content-disposition: form-data; name="file"; filename="large.txt"';
  yield Buffer.from(`--${BOUNDARY}\r\n${disposition}\r\n\r\n`);
  const slice = Buffer.alloc(MEGABYTE, "a line of text\n");
  for (let sent = 0; sent < size; sent += MEGABYTE) yield slice;
  yield Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
}

async function upload(size: number): Promise<string> {
  const { hostname, port } = new URL(stack.baseUrl);
  const headers = { authorization: authorizationOf(ADMINISTRATOR), "content-type": MULTIPART };
  const [method, path] = ["POST", "/api/files/assets/new"];
  const outgoing = request({ hostname, port, path, method, headers });
  const answered = once(outgoing, "response").then(async ([response]: IncomingMessage[]) => {
    assert.ok(response);
    const text = Buffer.concat(await response.toArray()).toString();
    const { statusCode: status = 0 } = response;
    assertDescribed({ method, path, status, headers: headersOf(response), text });
    assert.equal(status, 200, text);
    return JSON.parse(text).file.name as string;
  });
  await Promise.all([pipeline(Readable.from(body(size)), outgoing), answered]);
  return answered;
}

test("an upload of 400 MB goes through both processes and is held by neither", async () => {
  // Modules that are loaded with the first upload have nothing to do with its size.
  await upload(2 * MEGABYTE);
  const names = ["gateway", "content"];
  const before = await Promise.all(names.map(peakOf));
  const name = await upload(SIZE);
  const after = await Promise.all(names.map(peakOf));
  for (const [index, process] of names.entries()) {
    const growth = (after[index] ?? 0) - (before[index] ?? 0);
    assert.ok(growth < GROWTH_MAX, `${process} took ${growth} bytes more`);
  }
  const { size } = await stat(`${stack.filesFolder}/kept/${name.slice(0, 2)}/${name}`);
  assert.equal(size, SIZE);
});
