import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { TagService } from "@tidings/proto/tidings/contact/v1/tag_service";
import { createLog } from "@tidings/runtime/log";
import { openTls, type Tls } from "@tidings/runtime/tls";
import { type Authority, type CertificateFiles, createAuthority } from "@tidings/testkit/certificates";
import { eventually } from "@tidings/testkit/eventually";
import { type TemporaryFolder, temporaryFolder } from "@tidings/testkit/temporary-folder";
import { actorSigner, actorVerifier } from "./actor.ts";
import { rpcClient } from "./client.ts";
import { Code } from "./fault.ts";
import { implement, type RpcServer, serve } from "./server.ts";
import { connect } from "./stream/connection.ts";

const LOOK_MS = 20;
const log = createLog("rpc", "silent");
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const sign = actorSigner(privateKey.export({ format: "der", type: "pkcs8" }).toString("base64"), "contact");
const trusted = `user:${publicKey.export({ format: "der", type: "spki" }).toString("base64")}`;
const actor = { kind: "user" as const, id: 1, name: "Ada", admin: true, permissions: {} };

let folder: TemporaryFolder;
let ours: Authority;
let theirs: Authority;
let serverFiles: CertificateFiles;
let server: RpcServer;

before(async () => {
  folder = await temporaryFolder();
  [ours, theirs] = await Promise.all([
    createAuthority(folder.path, "ours"),
    createAuthority(folder.path, "theirs"),
  ]);
  serverFiles = await ours.issue("server", ["tags"]);
  const unused = () => assert.fail("not part of this test");
  const tags = implement(TagService, {
    getTag: ({ id }) => ({ id, tag: "a tag" }),
    listTags: unused,
    createTag: unused,
    updateTag: unused,
    deleteTag: unused,
    batchCreateTags: unused,
    batchUpdateTags: unused,
    batchDeleteTags: unused,
  });
  const verifyActor = actorVerifier([trusted], "contact");
  const tls = openTls(serverFiles, log, LOOK_MS);
  server = await serve([tags], { host: "127.0.0.1", port: 0, tls, log, verifyActor, inFlightMax: 8 });
});

after(async () => {
  await server.drain();
  await folder.remove();
});

/** Asks for a tag of the host `name`, wherever it is said to be, as often as it is called. */
function caller(name: string, tls: Tls | undefined) {
  const connection = connect(`${name}:${server.port}`, { tls, lookUp: async () => ["127.0.0.1"] });
  after(() => connection.close());
  const client = rpcClient(TagService, connection, sign);
  return () => client.getTag({ id: 1 }, { actor, deadlineMs: Date.now() + 5_000, requestId: "" });
}

test("a client with a certificate of ours is answered by the host it asked for", async () => {
  const client = await ours.issue("client", ["client"]);
  assert.equal((await caller("tags", openTls(client, log))()).tag, "a tag");
});

test("a server whose certificate is for another host is not talked to", async () => {
  const client = await ours.issue("asking-another", ["client"]);
  await assert.rejects(caller("payments", openTls(client, log))(), { code: Code.UNAVAILABLE });
});

test("a client without a certificate, or with one of another authority, is not answered", async () => {
  await assert.rejects(caller("tags", undefined)(), { code: Code.UNAVAILABLE });
  const foreign = { ...(await theirs.issue("foreign", ["client"])), TLS_CA_FILE: ours.caFile };
  await assert.rejects(caller("tags", openTls(foreign, log))(), { code: Code.UNAVAILABLE });
});

test("new files are in use without a restart, and connections that stand stay", async () => {
  const standing = caller("tags", openTls(await ours.issue("standing", ["client"]), log));
  await standing();
  const others = await createAuthority(folder.path, "others");
  const client = await others.issue("newcomer", ["client"]);
  const next = await others.issue("next", ["tags"]);
  // The certificate first: alone it is of no use, and the server stays what it was.
  await copyFile(next.TLS_CERT_FILE, serverFiles.TLS_CERT_FILE);
  await copyFile(next.TLS_KEY_FILE, serverFiles.TLS_KEY_FILE);
  await copyFile(next.TLS_CA_FILE, join(folder.path, "ours.crt"));
  await eventually(() => caller("tags", openTls(client, log))());
  assert.equal((await standing()).tag, "a tag");
});

test("missing files, and files that do not fit, end the process at its start with their names", async () => {
  const { TLS_CERT_FILE, ...some } = await theirs.issue("whole", ["client"]);
  assert.throws(() => openTls(some, log), /all three or none/);
  const unfit = { ...some, TLS_CERT_FILE: theirs.caFile };
  assert.throws(() => openTls(unfit, log), /key values mismatch/);
});
