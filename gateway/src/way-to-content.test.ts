import assert from "node:assert/strict";
import { copyFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { type HttpServer, serveHttp } from "@tidings/runtime/http-server";
import { createLog } from "@tidings/runtime/log";
import { openTls, type Tls } from "@tidings/runtime/tls";
import { type Authority, type CertificateFiles, createAuthority } from "@tidings/testkit/certificates";
import { eventually } from "@tidings/testkit/eventually";
import { type TemporaryFolder, temporaryFolder } from "@tidings/testkit/temporary-folder";
import { wayToContent } from "./way-to-content.ts";

const LOOK_MS = 20;
const log = createLog("gateway", "silent");

let folder: TemporaryFolder;
let ours: Authority;
let serverFiles: CertificateFiles;
let server: HttpServer;

before(async () => {
  folder = await temporaryFolder();
  ours = await createAuthority(folder.path, "ours");
  serverFiles = await ours.issue("server", ["127.0.0.1"]);
  const tls = openTls(serverFiles, log, LOOK_MS);
  server = await serveHttp({ host: "127.0.0.1", port: 0, tls }, (_request, response) => response.end("page"));
});

after(async () => {
  await server.drain();
  await folder.remove();
});

/** Fetches what is there, for a visitor of another host, as often as it is called. */
function fetcher(host: string, tls: Tls | undefined) {
  const { origin, agent } = wayToContent(`${host}:${server.port}`, tls, { keepAlive: true });
  after(() => agent.destroy());
  return async () => {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request(origin, { agent, headers: { host: "shop.example" } }, resolve)
        .on("error", reject)
        .end();
    });
    return { status: answer.statusCode, body: await text(answer) };
  };
}

test("a gateway with a certificate gets what is there, whichever host the visitor asked for", async () => {
  const fetch = fetcher("127.0.0.1", openTls(await ours.issue("gateway", ["gateway"]), log));
  assert.deepEqual(await fetch(), { status: 200, body: "page" });
});

test("a process without a certificate, or with a foreign one, gets nothing", async () => {
  const answer = await fetcher("127.0.0.1", undefined)().catch(() => undefined);
  assert.notEqual(answer?.body, "page");
  const theirs = await createAuthority(folder.path, "theirs");
  const foreign = { ...(await theirs.issue("foreign", ["gateway"])), TLS_CA_FILE: ours.caFile };
  await assert.rejects(fetcher("127.0.0.1", openTls(foreign, log))());
});

test("a server whose certificate is for another host gets no request", async () => {
  const files = await ours.issue("asking-another", ["gateway"]);
  await assert.rejects(fetcher("localhost", openTls(files, log))(), { code: "ERR_TLS_CERT_ALTNAME_INVALID" });
});

test("both ends use new files without a restart", async () => {
  const files = await ours.issue("rotating", ["gateway"]);
  const fetch = fetcher("127.0.0.1", openTls(files, log, LOOK_MS));
  await fetch();
  const others = await createAuthority(folder.path, "others");
  const [forServer, forGateway] = [
    await others.issue("next-server", ["127.0.0.1"]),
    await others.issue("next-gateway", ["gateway"]),
  ];
  for (const [next, now] of [
    [forServer, serverFiles],
    [forGateway, files],
  ] as const)
    for (const name of ["TLS_CERT_FILE", "TLS_KEY_FILE"] as const) await copyFile(next[name], now[name]);
  // Until both have looked they do not know each other: a real change trusts both authorities first.
  await copyFile(others.caFile, ours.caFile);
  await eventually(async () => assert.deepEqual(await fetch(), { status: 200, body: "page" }));
  const stranger = fetcher("127.0.0.1", openTls(await others.issue("another", ["gateway"]), log));
  await eventually(async () => assert.equal((await stranger()).body, "page"));
});
