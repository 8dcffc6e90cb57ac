import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { migrate, roleUrl } from "@tidings/database/migrate";
import { freePort } from "@tidings/embedded/free-port";
import { startNats } from "@tidings/embedded/nats";
import { migrateSchemas } from "@tidings/scripts/migrate-schemas";
import { processes } from "@tidings/scripts/processes";
import { startStack } from "@tidings/scripts/stack";
import { eventually } from "@tidings/testkit/eventually";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { createClient } from "../client.ts";
import { databaseOf, emptyDatabase } from "../empty-database.ts";
import { collectLines } from "../lines.ts";
import { ADMINISTRATOR } from "../stack.ts";

test("processes that are there before their schema wait for it, alive and not ready, and then serve", async () => {
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.adopt(await temporaryFolder(), ({ remove }) => remove());
  const nats = cleanup.adopt(await startNats({ dataDir: join(folder.path, "nats") }), ({ stop }) => stop());
  const adminUrl = await emptyDatabase();
  const passwordOf = (schema: string) => `wait-${schema}`;
  // The contact service finds a schema that lacks its last migration; the others find not even their role.
  const all = Object.entries(processes.find(({ name }) => name === "contact")?.migrations ?? {});
  const older = Object.fromEntries(all.slice(0, -1));
  await migrate({ adminUrl, schema: "contact", rolePassword: passwordOf("contact"), migrations: older });

  const lines = collectLines();
  const opsPorts = { contact: await freePort(), gateway: await freePort() };
  const starting = startStack({
    database: { url: (schema) => roleUrl(adminUrl, `${databaseOf(adminUrl)}_${schema}`, passwordOf(schema)) },
    natsUrl: nats.url,
    filesDir: join(folder.path, "files"),
    administrator: ADMINISTRATOR,
    env: {
      contact: { OPS_PORT: String(opsPorts.contact) },
      gateway: { OPS_PORT: String(opsPorts.gateway) },
    },
    log: lines.add,
  });
  starting.catch(() => undefined); // awaited below
  const waiting = (name: string) => lines.of(name).filter((line) => line.includes('"msg":"waiting'));
  const eachWaitsOnce = () =>
    assert.deepEqual(
      processes.map(({ name }) => waiting(name).length),
      processes.map(() => 1),
    );
  await eventually(eachWaitsOnce);
  assert.match(waiting("contact")[0] ?? "", /the schema is older than this version/);
  for (const port of Object.values(opsPorts)) {
    assert.equal(await statusOf(port, "livez"), 200);
    assert.equal(await statusOf(port, "readyz"), 503);
  }

  await migrateSchemas({ adminUrl, passwordOf });
  const stack = cleanup.adopt(await lines.onFailure(starting), ({ stop }) => stop());
  for (const port of Object.values(opsPorts)) assert.equal(await statusOf(port, "readyz"), 200);
  eachWaitsOnce();
  const api = createClient(stack.baseUrl, ADMINISTRATOR);
  const { status } = await api("POST", "contacts/new", { email: "patient@example.com" });
  assert.equal(status, 201);
});

async function statusOf(port: number, path: string): Promise<number> {
  return (await fetch(`http://127.0.0.1:${port}/${path}`)).status;
}
