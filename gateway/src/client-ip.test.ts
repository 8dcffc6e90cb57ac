import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { createLog } from "@tidings/runtime/log";
import { clientIpReader } from "./client-ip.ts";

const warnings: string[] = [];
const log = createLog("test", "warn", { write: (line) => void warnings.push(line) });
let received: IncomingMessage | undefined;
const server = createServer((request, response) => {
  received = request;
  response.end();
}).listen(0, "127.0.0.1");
await once(server, "listening");
after(() => server.close());

async function clientIp(trusted: string[], forwarded?: string): Promise<string> {
  const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
  await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { headers });
  return received ? clientIpReader(trusted, log)(received) : assert.fail("no request arrived");
}

test("without trusted proxies X-Forwarded-For is not believed", async () => {
  assert.equal(await clientIp([], "203.0.113.9"), "127.0.0.1");
});

test("the client's address is taken from a trusted proxy", async () => {
  assert.equal(await clientIp(["127.0.0.0/8"], "203.0.113.9"), "203.0.113.9");
  assert.equal(await clientIp(["127.0.0.1"], "2001:db8::9"), "2001:db8::9");
});

test("a forwarded address that the client itself sent is not believed", async () => {
  assert.equal(await clientIp(["127.0.0.1"], "10.9.9.9, 203.0.113.9"), "203.0.113.9");
});

test("addresses of trusted proxies are passed over from the right", async () => {
  const trusted = ["127.0.0.1", "10.0.0.0/8", "fd00::/8"];
  assert.equal(await clientIp(trusted, "1.1.1.1, 203.0.113.9, fd00::1, 10.1.1.1"), "203.0.113.9");
});

test("an entry that is no address ends the search at the last one known", async () => {
  assert.equal(await clientIp(["127.0.0.1", "10.0.0.0/8"], "203.0.113.9, nonsense, 10.1.1.1"), "10.1.1.1");
});

test("a proxy that says nothing is the client", async () => {
  assert.equal(await clientIp(["127.0.0.1"]), "127.0.0.1");
});

test("a proxy that forwards without being trusted is warned about once", () => {
  const reader = clientIpReader([], log);
  warnings.length = 0;
  const request = { headers: { "x-forwarded-for": "203.0.113.9" }, socket: { remoteAddress: "10.0.0.1" } };
  for (let count = 0; count < 3; count += 1) reader(request as never);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /TRUSTED_PROXIES/);
});
