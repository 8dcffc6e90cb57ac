import assert from "node:assert/strict";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { after, test } from "node:test";
import { ContactMethodService } from "@tidings/proto/tidings/contact/v1/contact";
import { ContactService } from "@tidings/proto/tidings/contact/v1/contact_service";
import { WebhookService } from "@tidings/proto/tidings/webhook/v1/webhook_service";
import { type Actor, actorSigner } from "@tidings/rpc/actor";
import { rpcClient } from "@tidings/rpc/client";
import { Fault } from "@tidings/rpc/fault";
import { connect } from "@tidings/rpc/stream/connection";
import { processes } from "@tidings/scripts/processes";
import { Client } from "pg";
import { startTestStack } from "./stack.ts";

process.env.A_SECRET_OF_SOMEBODY_ELSE = "x";
const stack = await startTestStack();
after(() => stack.stop());

/** The environment of a running process: all that an intruder gets there. */
function environmentOf(name: string): Record<string, string> {
  const text = readFileSync(`/proc/${stack.process(name).pid}/environ`, "utf8");
  return Object.fromEntries(
    text.split("\0").map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
}

const OF_EVERY_PROCESS =
  /^(|PATH|HOME|LANG|LC_\w+|TZ|TMPDIR|SSL_CERT_\w+|NODE_\w+|OTEL_\w+|MALLOC_ARENA_MAX)$/;

for (const { name, schema, variables } of processes) {
  test(`${name} gets the variables of its list, and nothing else`, () => {
    const told = Object.keys(environmentOf(name)).filter((variable) => !OF_EVERY_PROCESS.test(variable));
    assert.deepEqual(
      told.filter((variable) => !variables.includes(variable)),
      [],
    );
  });

  for (const other of processes.filter((row) => row.schema !== schema))
    test(`${name} can neither read the schema ${other.schema} nor sign in as its role`, async () => {
      const url = new URL(environmentOf(name).DATABASE_URL ?? "");
      const own = new Client({ connectionString: url.href });
      await own.connect();
      after(() => own.end());
      const { rows } = await own.query("select has_schema_privilege($1, 'usage') as may", [other.schema]);
      assert.deepEqual(rows, [{ may: false }]);
      await assert.rejects(own.query(`select 1 from ${other.schema}.outbox`), /permission denied/);
      url.username = url.username.replace(schema, other.schema);
      const foreign = new Client({ connectionString: url.href });
      await assert.rejects(foreign.connect(), /password authentication failed/);
    });

  test(`${name} is reached by other processes and operators on this machine only`, () => {
    const ports = listeningAddresses(stack.process(name).pid);
    const isPublic = (address: string) => !address.startsWith("0100007F:");
    const open = ports.filter(isPublic).map((address) => Number.parseInt(address.split(":")[1] ?? "", 16));
    const publicPort = Number(new URL(stack.baseUrl).port);
    assert.deepEqual(open, name === "gateway" ? [publicPort] : []);
  });
}

/** The addresses that a process listens on, as Linux writes them (proc(5)). */
function listeningAddresses(pid: number): string[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      } catch {
        return undefined; // closed meanwhile
      }
    }),
  );
  const LISTEN = "0A";
  return ["tcp", "tcp6"].flatMap((family) =>
    readFileSync(`/proc/net/${family}`, "utf8")
      .split("\n")
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter((columns) => columns[3] === LISTEN && sockets.has(columns[9]))
      .map((columns) => columns[1] ?? ""),
  );
}

const administrator: Actor = { kind: "user", id: 1, name: "Eve", admin: true, permissions: {} };
const delivery: Actor = { kind: "service", id: null, name: "Delivery", admin: true, permissions: {} };
const outgoing = (actor: Actor) => ({ actor, deadlineMs: Date.now() + 5_000, requestId: "" });
const isRefused = (reason: string) => (error: unknown) => error instanceof Fault && error.reason === reason;

/** The services of a process, for somebody who has the key of the webhook process. */
function clientWithKeyOfWebhook<
  S extends typeof ContactService | typeof ContactMethodService | typeof WebhookService,
>(service: S, name: string) {
  const { ACTOR_PRIVATE_KEY = "" } = environmentOf("webhook");
  const connection = connect(`127.0.0.1:${environmentOf(name).GRPC_PORT}`);
  after(() => connection.close());
  return rpcClient(service, connection, actorSigner(ACTOR_PRIVATE_KEY, name));
}

test("the keys of the webhook process do not make it a user", async () => {
  const contacts = clientWithKeyOfWebhook(ContactService, "contact");
  await assert.rejects(contacts.listContacts({}, outgoing(administrator)), isRefused("ACTOR_INVALID"));
  const webhooks = clientWithKeyOfWebhook(WebhookService, "webhook");
  await assert.rejects(webhooks.listWebhooks({}, outgoing(administrator)), isRefused("ACTOR_INVALID"));
  await assert.rejects(webhooks.listWebhooks({}, outgoing(delivery)), isRefused("ACTOR_INVALID"));
});

test("in its own name it may call internal methods, and can change nothing", async () => {
  const contacts = clientWithKeyOfWebhook(ContactService, "contact");
  const methods = clientWithKeyOfWebhook(ContactMethodService, "contact");
  assert.deepEqual((await methods.batchGetContacts({}, outgoing(delivery))).contacts, []);
  for (const call of [
    contacts.listContacts({}, outgoing(delivery)),
    contacts.deleteContact({ id: 1 }, outgoing(delivery)),
    contacts.createContact({}, outgoing(delivery)),
  ])
    await assert.rejects(call, isRefused("PERMISSION_DENIED"));
});
