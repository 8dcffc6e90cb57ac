import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { startNats } from "@tidings/embedded/nats";
import { natsPermissions } from "@tidings/scripts/nats-permissions";
import { type ProcessName, processes } from "@tidings/scripts/processes";
import { createAuthority } from "@tidings/testkit/certificates";
import { eventually } from "@tidings/testkit/eventually";
import { startReceiver } from "@tidings/testkit/receiver";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { PNG } from "./multipart.ts";
import { startTestStack } from "./stack.ts";
import { uploader } from "./uploader.ts";

/** Small, so that many an event is too large for a message. */
const PAYLOAD_MAX = 1_536;

await using cleanup = new AsyncDisposableStack();
const folder = cleanup.adopt(await temporaryFolder(), ({ remove }) => remove());
const authority = await createAuthority(folder.path);
const [forProcesses, forNats] = await Promise.all([
  authority.issue("processes", ["127.0.0.1"]),
  authority.issue("nats", ["localhost"]),
]);
const passwordOf = (name: ProcessName) => `secret-of-${name}`;
const configFile = join(folder.path, "nats.conf");
await writeFile(
  configFile,
  `max_payload: ${PAYLOAD_MAX}
tls { cert_file: "${forNats.TLS_CERT_FILE}", key_file: "${forNats.TLS_KEY_FILE}" }
${natsPermissions((name) => `"${passwordOf(name)}"`)}`,
);
const nats = await startNats({ dataDir: join(folder.path, "nats"), configFile });
cleanup.defer(() => nats.stop());

/** A stack whose processes show each other certificates, and each of which is a user of its own to a NATS with TLS. */
const stack = await startTestStack({
  nats,
  env: Object.fromEntries(
    processes.map(({ name }) => [
      name,
      {
        ...forProcesses,
        NATS_URL: `nats://${name}:${passwordOf(name)}@localhost:${nats.port}`,
        NATS_CA_FILE: authority.caFile,
      },
    ]),
  ),
});
cleanup.defer(() => stack.stop());
const started = cleanup.move();
after(() => started.disposeAsync());
const { api } = stack;

async function connectAs(name: ProcessName): Promise<NatsConnection> {
  const connection = await connect({
    servers: `localhost:${nats.port}`,
    user: name,
    pass: passwordOf(name),
    inboxPrefix: `_INBOX_${name}`,
    tls: { caFile: authority.caFile },
  });
  after(() => connection.close());
  return connection;
}

test("everything between the processes works: calls, events of any size, uploads and the public web", async () => {
  const receiver = await startReceiver();
  after(receiver.stop);
  const triggers = ["svc.lead_post_save_new"];
  const hook = await api("POST", "hooks/new", { name: "Secured", webhookUrl: receiver.url, triggers });
  assert.equal(hook.status, 201, hook.text);
  const [address1, address2, city] = ["a", "b", "c"].map((letter) => letter.repeat(190));
  for (const contact of [
    { email: "small@example.com" },
    { email: "large@example.com", address1, address2, city },
  ])
    assert.equal((await api("POST", "contacts/new", contact)).status, 201);
  const bodies = (await receiver.waitFor(2)).map(({ body }) => body).join();
  assert.ok(bodies.includes(String(address1)) && bodies.includes("small@example.com"));
  const { streams } = await jetstreamManager(await connectAs("contact"), { checkAPI: false });
  assert.ok((await streams.info("OBJ_tidings-events-contact")).state.messages > 0, "no event was too large");

  const { link } = await uploader(stack.baseUrl).file("images", "a.png", PNG);
  const shown = await fetch(`${stack.baseUrl}${new URL(link ?? "").pathname}`);
  assert.deepEqual(Buffer.from(await shown.arrayBuffer()), PNG);
});

test("each process reads what its permissions are for, and is refused nothing", async () => {
  await eventually(async () => {
    const found: string[] = [];
    for (const { name, schema } of processes) {
      const manager = await jetstreamManager(await connectAs(name), { checkAPI: false });
      const stream = schema.toUpperCase();
      for await (const consumer of manager.consumers.list(stream)) found.push(`${stream}/${consumer.name}`);
    }
    assert.deepEqual(found.sort(), processes.flatMap(({ durables }) => durables).sort());
  });
  for (const { name } of processes)
    assert.deepEqual(
      stack.lines.of(name).filter((line) => /permission/i.test(line)),
      [],
    );
});

test("a process publishes nothing in the name of another, and reads neither its stream nor its answers", async () => {
  const webhook = await connectAs("webhook");
  const refused = /permission/i;
  await assert.rejects(webhook.request("tidings.contact.contact.created", "forged"), refused);
  await assert.rejects(webhook.request("$JS.API.STREAM.MSG.GET.CONTACT", '{"seq":1}'), refused);
  await assert.rejects(webhook.request("$JS.API.STREAM.DELETE.CONTACT"), refused);
  for (const subject of [">", "_INBOX_contact.>", "tidings.>"]) {
    const heard = Promise.withResolvers<Error | undefined>();
    webhook.subscribe(subject, { callback: (error) => heard.resolve(error ?? undefined) });
    assert.match(String(await heard.promise), refused);
  }
});

test("a caller without a certificate gets no call, and probes need none", async () => {
  const [grpc, ops] = [await stack.lines.port("contact", "grpc"), await stack.lines.port("contact", "ops")];
  await assert.rejects(fetch(`http://127.0.0.1:${grpc}`));
  assert.equal((await fetch(`http://127.0.0.1:${ops}/readyz`)).status, 200);
});
