import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { freePort } from "@tidings/embedded/free-port";
import { eventually } from "@tidings/testkit/eventually";
import { startReceiver } from "@tidings/testkit/receiver";
import { type TemporaryFolder, temporaryFolder } from "@tidings/testkit/temporary-folder";
import { type Client, createClient } from "../client.ts";
import { ADMINISTRATOR } from "../stack.ts";

/** `npm start` on a file system of its own, which only root may make. */
const SIZE = "600m";
const mountsFileSystems = process.getuid?.() === 0 && canMount();
const START_MS = 60_000;
const RECOVERY_MS = 60_000;
const FILLING_MS = 30_000;

function canMount(): boolean {
  try {
    execFileSync("unshare", ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], { stdio: "ignore" });
    return true;
  } catch {
    return false; // not allowed here
  }
}

let folder: TemporaryFolder;
let launcher: ChildProcess;
let api: Client;
let output = "";

before(async () => {
  if (!mountsFileSystems) return;
  folder = await temporaryFolder();
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE}`, "tmpfs", folder.path]);
  const port = await freePort();
  launcher = spawn(process.execPath, ["scripts/start.ts"], {
    cwd: join(import.meta.dirname, "../.."),
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      PORT: String(port),
      DATA_DIR: join(folder.path, "data"),
      ADMIN_PASSWORD: ADMINISTRATOR.password,
      OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [launcher.stdout, launcher.stderr])
    stream?.on("data", (chunk) => {
      output += chunk;
    });
  await eventually(() => assert.match(output, /curl|exit/, output), { timeoutMs: START_MS });
  api = createClient(`http://127.0.0.1:${port}`, ADMINISTRATOR);
});

after(async () => {
  if (!mountsFileSystems) return;
  launcher.kill("SIGTERM");
  if (launcher.exitCode === null && launcher.signalCode === null) await once(launcher, "exit");
  execFileSync("umount", ["--lazy", folder.path]);
  await folder.remove();
});

test("while the disk is full writes are 503 and the launcher stays; with room again all goes on by itself, and nothing acknowledged is lost", {
  skip: !mountsFileSystems && "no file system can be mounted here",
}, async () => {
  const receiver = await startReceiver();
  const hook = { name: "CRM", webhookUrl: receiver.url, triggers: ["svc.lead_post_save_new"] };
  assert.equal((await api("POST", "hooks/new", hook)).status, 201);
  const create = (name: string) =>
    api("POST", "contacts/new", { firstname: name, email: `${name}@example.com` });
  assert.equal((await create("before")).status, 201);

  const ballast = join(folder.path, "ballast");
  execFileSync("sh", ["-c", `head -c 1G /dev/zero > ${ballast} || true`], { stdio: "ignore" });
  const acknowledged: string[] = [];
  const statuses = new Map<number, number>();
  const giveUpAt = performance.now() + FILLING_MS;
  // Space that Postgres and NATS had allocated takes some writes before they fail.
  for (let count = 0; (statuses.get(503) ?? 0) < 500 && performance.now() < giveUpAt; count += 1) {
    const names = Array.from({ length: 20 }, (_, index) => `full-${count}-${index}`);
    const answers = await Promise.all(names.map((name) => create(name).catch(() => undefined)));
    answers.forEach((answer, index) => {
      const status = answer?.status ?? 0;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 201) acknowledged.push(`full-${count}-${index}`);
    });
  }
  assert.ok((statuses.get(503) ?? 0) > 0, JSON.stringify([...statuses]));
  assert.deepEqual(
    [...statuses.keys()].filter((status) => ![201, 503, 504].includes(status)),
    [],
    `statuses ${JSON.stringify([...statuses])}`,
  );
  assert.equal(launcher.exitCode, null, output);

  await rm(ballast);
  await eventually(async () => assert.equal((await create("after")).status < 300, true), {
    timeoutMs: RECOVERY_MS,
  });
  for (const name of ["before", ...acknowledged.slice(-50)])
    assert.equal((await api("GET", `contacts?search=email:${name}@example.com`)).body.total, "1", name);
  // The bus takes events again, and brings them.
  await eventually(
    () => assert.ok(receiver.requests.some(({ body }) => body.toString().includes("after@example.com"))),
    { timeoutMs: RECOVERY_MS },
  );
  await receiver.stop();
});
