import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { createServer, type IncomingMessage, request as open } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { badRequest, Fault } from "@tidings/rpc/fault";
import { eventually } from "@tidings/testkit/eventually";
import { type TemporaryFolder, temporaryFolder } from "@tidings/testkit/temporary-folder";
import { type Arrived, withArrival } from "./arrival.ts";

const TYPE = "multipart/form-data; boundary=b";
const head = (name: string) =>
  `--b\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: text/plain\r\n\r\n`;

type Outcome = Omit<Arrived, "path"> | { reason: string };

let folder: TemporaryFolder;
const outcomes: Outcome[] = [];
let begun = 0;
const server = createServer(async (request: IncomingMessage, response) => {
  begun += 1;
  const options = { request, folder: folder.path, bytesMax: 1_000_000, missing: badRequest };
  const outcome = await withArrival(
    options,
    async ({ path: _path, ...arrived }): Promise<Outcome> => arrived,
  ).catch((error) => ({ reason: error instanceof Fault ? error.message : String(error) }));
  outcomes.push(outcome);
  response.end(JSON.stringify(outcome));
});
before(async () => {
  folder = await temporaryFolder();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
after(async () => {
  server.closeAllConnections();
  server.close();
  await folder.remove();
});

function start(headers: Record<string, string> = {}) {
  const { port } = server.address() as AddressInfo;
  const outgoing = open({ port, method: "POST", headers: { "content-type": TYPE, ...headers } });
  outgoing.on("error", () => undefined);
  return outgoing;
}

test("one whole file arrives, whatever its pieces", async () => {
  const outgoing = start();
  const body = `${head("a.txt")}${"x".repeat(300_000)}\r\n--b--\r\n`;
  for (let from = 0; from < body.length; from += 7_001) outgoing.write(body.slice(from, from + 7_001));
  outgoing.end();
  await eventually(() => assert.deepEqual(outcomes.at(-1), { part: "file", name: "a.txt", size: 300_000 }));
});

test("whenever its sender leaves, nothing is left", async () => {
  const body = `${head("a.txt")}${"x".repeat(300_000)}\r\n--b--\r\n`;
  for (const length of [1, 40, head("a.txt").length + 1, 100_000, 300_000, body.length - 3]) {
    const [count, before] = [outcomes.length, begun];
    const outgoing = start({ "content-length": String(body.length) });
    outgoing.write(body.slice(0, length));
    await eventually(() => assert.equal(begun, before + 1));
    outgoing.destroy();
    await eventually(() => assert.equal(outcomes.length, count + 1, `left after ${length}`));
    assert.deepEqual(outcomes.at(-1), { reason: "The body ended early." });
    assert.deepEqual(await readdir(folder.path), []);
  }
});

test("a body that ends before its form does is refused", async () => {
  const body = `${head("a.txt")}${"x".repeat(300_000)}\r\n--b--\r\n`;
  for (const length of [1, 40, head("a.txt").length + 1, 100_000, 300_000, body.length - 5]) {
    const count = outcomes.length;
    start().end(body.slice(0, length));
    await eventually(() => assert.equal(outcomes.length, count + 1, `cut at ${length}`));
    assert.ok("reason" in (outcomes.at(-1) as object), `cut at ${length}`);
    assert.deepEqual(await readdir(folder.path), []);
  }
});

test("a body that holds another number of files than one, or too much, is refused", async () => {
  const file = `${head("a.txt")}hello\r\n`;
  const cases: Record<string, string> = {
    "two files": `${file}${file}--b--\r\n`,
    "three files": `${file}${file}${file}--b--\r\n`,
    "a large and a small file": `${head("a.txt")}${"x".repeat(900_000)}\r\n${file}--b--\r\n`,
    "one byte too many": `${head("a.txt")}${"x".repeat(1_000_001)}\r\n--b--\r\n`,
    "a file without a name": `${head("")}hello\r\n--b--\r\n`,
    "a name that leads elsewhere": `${head("../a.txt")}${"x".repeat(900_000)}\r\n--b--\r\n`,
    "many parts": `${'--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nb\r\n'.repeat(100)}${file}--b--\r\n`,
    "a broken head": "--b\r\ncontent-disposition\r\n\r\nb\r\n--b--\r\n",
  };
  for (const [what, body] of Object.entries(cases)) {
    const count = outcomes.length;
    start().end(body);
    await eventually(() => assert.equal(outcomes.length, count + 1, what));
    assert.ok("reason" in (outcomes.at(-1) as object), what);
    assert.deepEqual(await readdir(folder.path), [], what);
  }
});
