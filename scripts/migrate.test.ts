import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { freePort } from "@tidings/embedded/free-port";
import { startPostgres } from "@tidings/embedded/postgres";
import { queryAsSuperuser } from "@tidings/testkit/postgres";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { bundleOf } from "./bundle.ts";
import { passwordVariableOf } from "./migrate-config.ts";
import { processes } from "./processes.ts";

const server = { adminUrl: process.env.TEST_POSTGRES_URL ?? "" };
const id = randomBytes(4).toString("hex");
const database = `migrate_${id}`;
const ADMIN_PASSWORD = "not-a-superuser";

before(async () => {
  await queryAsSuperuser(server, `create role admin_${id} login createrole password '${ADMIN_PASSWORD}'`);
  await queryAsSuperuser(server, `create database ${database}`);
  await queryAsSuperuser(server, `grant create on database ${database} to admin_${id}`);
});
after(() => queryAsSuperuser(server, `drop database if exists ${database} with (force)`));

test("a role that may only make roles and schemas migrates, two at once, and again with other passwords", async () => {
  const first = await Promise.all([migrate(passwords("first")), migrate(passwords("first"))]);
  assert.deepEqual(
    first.map(({ code }) => code),
    [0, 0],
    first.map(({ output }) => output).join("\n"),
  );
  for (const { schema } of processes) {
    const [row] = await queryAsSuperuser(as(schema, "first"), "select count(*) from kysely_migration");
    assert.ok(Number(row?.count) > 0);
  }

  const again = await migrate(passwords("second"));
  assert.equal(again.code, 0, again.output);
  assert.match(again.output, /"schema":"contact","applied":\[\]/);
  await queryAsSuperuser(as("contact", "second"), "select 1");
  await assert.rejects(queryAsSuperuser(as("contact", "first"), "select 1"), { code: "28P01" });
});

test("a role sees its own schema and no other", async () => {
  await migrate(passwords("own"));
  const tables = "select count(*) from contact.contacts";
  await queryAsSuperuser(as("contact", "own"), tables);
  await assert.rejects(queryAsSuperuser(as("webhook", "own"), tables), { code: "42501" });
});

test("passwords are changed with nobody locked out: by roles of another prefix, until those before are dropped", async () => {
  await migrate(passwords("before"));
  const next = `next_${id}`;
  assert.equal((await migrate({ ...passwords("after"), ROLE_PREFIX: next })).code, 0);
  const changing = "insert into contact.tags (tag) values ('x'); select count(*) from contact.contacts";
  await queryAsSuperuser(as("contact", "before"), changing.replace("'x'", "'y'"));
  await queryAsSuperuser(as("contact", "after", next), changing);
  const role = `t${id}_contact`;
  const drop = `grant ${role} to current_user; drop owned by ${role}; drop role ${role}`;
  await queryAsSuperuser({ adminUrl: adminUrl() }, drop);
  await queryAsSuperuser(as("contact", "after", next), changing.replace("'x'", "'z'"));
});

test("a database that refuses ends the migration at once, with a message without a secret", async () => {
  const url = Object.assign(new URL(adminUrl()), { password: "mistaken-secret" }).href;
  const { code, output } = await migrate({ ...passwords("never"), DATABASE_URL: url });
  assert.equal(code, 1);
  assert.match(output, new RegExp(`password authentication failed for user \\\\"admin_${id}`));
  assert.doesNotMatch(output, /mistaken-secret|never-/);
});

test("all that is missing is named together", async () => {
  const { code, output } = await migrate({ CONTACT_PASSWORD: "short" });
  assert.equal(code, 1);
  for (const name of ["DATABASE_URL", "CONTACT_PASSWORD", "IDENTITY_PASSWORD"])
    assert.match(output, new RegExp(name));
  assert.doesNotMatch(output, /short/);
});

test("a database that starts later is waited for, one that never does is given up", async (t) => {
  const folder = await temporaryFolder();
  t.after(folder.remove);
  const options = { dataDir: join(folder.path, "late"), port: await freePort(), durable: false };
  const unstarted = await startPostgres(options);
  await unstarted.stop();
  const env = { ...passwords("late"), DATABASE_URL: unstarted.url };

  const gaveUp = await migrate({ ...env, DATABASE_WAIT: "0" });
  assert.equal(gaveUp.code, 1);
  assert.match(gaveUp.output, /ECONNREFUSED/);

  let started: Promise<Awaited<ReturnType<typeof startPostgres>>> | undefined;
  const waiting = migrate(env, (line) => {
    if (line.includes("waiting for the database")) started ??= startPostgres(options);
  });
  const { code, output } = await waiting;
  t.after((await started)?.stop);
  assert.equal(code, 0, output);
});

function adminUrl(): string {
  const login = { pathname: `/${database}`, username: `admin_${id}`, password: ADMIN_PASSWORD };
  return Object.assign(new URL(server.adminUrl), login).href;
}

/** Connection as the role of a schema. */
function as(schema: string, password: string, prefix = `t${id}`): { adminUrl: string } {
  const login = { username: `${prefix}_${schema}`, password: `${password}-${schema}` };
  return { adminUrl: Object.assign(new URL(adminUrl()), login).href };
}

function passwords(word: string): Record<string, string> {
  const variables = processes.map(({ schema }) => [passwordVariableOf(schema), `${word}-${schema}`]);
  return { DATABASE_URL: adminUrl(), ROLE_PREFIX: `t${id}`, ...Object.fromEntries(variables) };
}

/** Runs what migrates as it is shipped, with this environment alone. */
function migrate(
  env: Record<string, string>,
  onLine?: (line: string) => void,
): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [bundleOf("scripts/migrate.ts")],
      { env },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? 1, output: stdout + stderr }),
    );
    child.stdout?.on("data", (text) => onLine?.(String(text)));
  });
}
