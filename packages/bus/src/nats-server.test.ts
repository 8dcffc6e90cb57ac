import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { nkeys } from "@nats-io/transport-node";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { startTestNats } from "@tidings/testkit/nats";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { connectBus } from "./connect.ts";

type Key = ReturnType<typeof nkeys.createUser>;

const folder = await temporaryFolder();
after(folder.remove);

/** A JWT as NATS has them: what `issuer` says of `subject`. */
function tokenOf(issuer: Key, subject: Key, nats: object): string {
  const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  const names = {
    jti: "test",
    iat: 0,
    name: "test",
    iss: issuer.getPublicKey(),
    sub: subject.getPublicKey(),
  };
  const signed = `${encoded({ typ: "JWT", alg: "ed25519-nkey" })}.${encoded({ ...names, nats: { ...nats, version: 2 } })}`;
  return `${signed}.${Buffer.from(issuer.sign(Buffer.from(signed))).toString("base64url")}`;
}

/** Writes what a user of the account shows. */
function writeCredentials(path: string, account: Key): Promise<void> {
  const user = nkeys.createUser();
  const token = tokenOf(account, user, { type: "user", subs: -1, data: -1, payload: -1 });
  const seed = Buffer.from(user.getSeed()).toString();
  return writeFile(
    path,
    `-----BEGIN NATS USER JWT-----\n${token}\n------END NATS USER JWT------\n
-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`,
  );
}

test("a process shows what is in its file of credentials, as of each attempt", async () => {
  const operator = nkeys.createOperator();
  const [account, system] = [nkeys.createAccount(), nkeys.createAccount()];
  const stored = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const limits = {
    subs: -1,
    data: -1,
    payload: -1,
    imports: -1,
    exports: -1,
    wildcards: true,
    conn: -1,
    leaf: -1,
  };
  const preloaded = [
    [account, { ...limits, ...stored }],
    [system, limits],
  ] as const;
  const configFile = join(folder.path, "nats.conf");
  await writeFile(
    configFile,
    `operator: "${tokenOf(operator, operator, { type: "operator" })}"
system_account: ${system.getPublicKey()}
resolver: MEMORY
resolver_preload: {
${preloaded.map(([key, limits]) => `  ${key.getPublicKey()}: "${tokenOf(operator, key, { type: "account", limits })}"`).join("\n")}
}
`,
  );
  const nats = await startTestNats({ configFile });
  after(nats.stop);
  const credentialsFile = join(folder.path, "process.creds");
  await writeCredentials(credentialsFile, nkeys.createAccount());
  const refusals: unknown[] = [];
  const log = createLog("test", "silent");
  log.warn = (...refusal: unknown[]) => void refusals.push(refusal);
  const bus = connectBus({ url: nats.url, credentialsFile, name: "test", log });
  after(bus.close);
  await eventually(() => assert.ok(refusals.length > 0));
  assert.equal(bus.isConnected(), false);
  await writeCredentials(credentialsFile, account);
  await eventually(() => assert.ok(bus.isConnected()));
  assert.ok(await bus.client().manager.getAccountInfo());
});
