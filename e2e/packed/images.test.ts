import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { Version } from "@cyclonedx/cyclonedx-library/Spec";
import { JsonStrictValidator } from "@cyclonedx/cyclonedx-library/Validation";
import { roleUrl } from "@tidings/database/migrate";
import { freePort } from "@tidings/embedded/free-port";
import { type PackedImage, packProduct } from "@tidings/scripts/images/product-images";
import { packTrial } from "@tidings/scripts/images/trial-images";
import { type Placement, placeProcesses } from "@tidings/scripts/placement";
import { processes } from "@tidings/scripts/processes";
import { eventually } from "@tidings/testkit/eventually";
import { type TemporaryFolder, temporaryFolder } from "@tidings/testkit/temporary-folder";
import { createClient } from "../client.ts";
import { startCollector } from "../collector.ts";
import { collectLines } from "../lines.ts";
import { ADMINISTRATOR } from "../stack.ts";
import { runImage, type UnpackedImage, unpackImage, whyNoImages } from "./packed-image.ts";

const skip = whyNoImages() ?? false;
let folder: TemporaryFolder;
let packed: PackedImage[];
let images: Record<string, UnpackedImage>;

before(async () => {
  if (skip) return;
  folder = await temporaryFolder();
  packed = await packProduct({ out: join(folder.path, "packed") });
  images = {};
  const stores = await packTrial({ out: join(folder.path, "packed") });
  for (const { name, path } of [...packed, ...stores])
    images[nameOf(name)] = await unpackImage(path, folder.path);
});
after(() => folder?.remove());

test("the product and its stores run from their images, started all at once", { skip }, async () => {
  await using cleanup = new AsyncDisposableStack();
  const lines = collectLines();
  const start = async (name: string, env: Record<string, string>, args: string[] = []) => {
    const child = await run(name, env, args);
    cleanup.defer(() => stop(child, images[name]?.stopSignal));
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (data) => lines.add(name, String(data)));
    return child;
  };
  const ports = { postgres: await freePort(), nats: await freePort(), redis: await freePort() };
  const adminUrl = `postgres://postgres:image-postgres@127.0.0.1:${ports.postgres}/tidings`;
  const passwordOf = (schema: string) => `image-${schema}`;
  const urls = processes.map(({ schema }) => {
    return [schema, roleUrl(adminUrl, `tidings_${schema}`, passwordOf(schema))] as const;
  });
  const options = {
    database: { url: () => "" },
    natsUrl: `nats://127.0.0.1:${ports.nats}`,
    redisUrl: `redis://127.0.0.1:${ports.redis}`,
    filesDir: "/tmp/files",
    administrator: ADMINISTRATOR,
  };
  const collector = await startCollector();
  cleanup.defer(collector.stop);
  const soon = { OTEL_BSP_SCHEDULE_DELAY: "50" };
  const exporting: Record<string, Record<string, string>> = {
    gateway: { ...soon, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    contact: { ...soon, OTEL_EXPORTER_OTLP_ENDPOINT: collector.grpcUrl, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
  };
  const placements = await placeProcesses(options, Object.fromEntries(urls));
  for (const { name, row, env } of placements) {
    const told = Object.entries(env).filter(([variable]) => row.variables.includes(variable));
    await start(name, { ...Object.fromEntries(told), ...exporting[name] });
  }
  const passwords = processes.map(({ schema }) => [`${schema.toUpperCase()}_PASSWORD`, passwordOf(schema)]);
  const migrating = await start("migrate", { DATABASE_URL: adminUrl, ...Object.fromEntries(passwords) });
  const migrated = once(migrating, "exit");
  const database = { POSTGRES_PASSWORD: "image-postgres", POSTGRES_DB: "tidings", PGDATA: "/tmp/data" };
  await start("trial-postgres", database, ["-c", `port=${ports.postgres}`]);
  await start("trial-nats", {}, ["--port", String(ports.nats), "--jetstream", "--store_dir", "/tmp"]);
  await start("trial-redis", {}, ["--port", String(ports.redis), "--save", "", "--dir", "/tmp"]);

  await lines.onFailure(migrated.then(([code]) => assert.equal(code, 0)));
  await lines.onFailure(Promise.all(placements.map(isReady)));
  const port = placements.find(({ name }) => name === "gateway")?.env.PORT;
  const api = createClient(`http://127.0.0.1:${port}`, ADMINISTRATOR);
  const { body } = await api("POST", "contacts/new", { firstname: "Ada", email: "ada@example.com" });
  const read = await api("GET", `contacts/${body.contact.id}`);
  assert.equal(read.body.contact.fields.all.firstname, "Ada");
  const themes = await api("GET", "themes");
  assert.equal(themes.status, 200, themes.text);
  await eventually(() => {
    const seen = new Set(collector.spans.map(({ service }) => service));
    assert.deepEqual(seen, new Set(["gateway", "contact"]));
  });
});

test("a rarely needed package is in the image of the process that needs it alone", { skip }, async () => {
  const script = `import { createRequire } from "node:module";
    const { S3Client } = createRequire("/app/main.js")("@aws-sdk/client-s3");
    console.log(typeof S3Client, process.getuid());`;
  const [node = ""] = images.content?.entrypoint ?? [];
  const child = await run("content", {}, ["--input-type=module", "--eval", script], [node]);
  assert.equal(child.stdout && (await text(child.stdout)), "function 65532\n");
});

test("an image says what it is made of, in the words of CycloneDX", { skip }, async () => {
  const validator = new JsonStrictValidator(Version.v1dot6);
  const made: Record<string, string[]> = {};
  for (const { name, path } of packed) {
    const bill = await readFile(path.replace(/\.tar$/, ".cdx.json"), "utf8");
    assert.equal(await validator.validate(bill), null, name);
    const [app = ""] = images[nameOf(name)]?.layers ?? [];
    assert.equal(await readFile(join(app, "app/sbom.cdx.json"), "utf8"), bill);
    made[nameOf(name)] = JSON.parse(bill).components.map((part: { name: string }) => part.name);
  }
  for (const names of Object.values(made)) {
    assert.ok(["node", "libc6", "pg", "zod"].every((name) => names.includes(name)));
    assert.ok(!["typescript", "esbuild", "@biomejs/biome"].some((name) => names.includes(name)));
  }
  assert.ok(made.gateway?.some((name) => name.startsWith("@node-rs/argon2-linux")));
  assert.ok(made.content?.includes("@aws-sdk/client-s3"));
  assert.ok(!made.migrate?.includes("express"));
});

test("the same sources make the same images", { skip }, async () => {
  const again = await packProduct({ out: join(folder.path, "again") });
  const digests = (all: PackedImage[]) => all.map(({ name, digest }) => [name, digest]);
  assert.deepEqual(digests(again), digests(packed));
});

function nameOf(image: string): string {
  return image.replace(/^tidings-/, "").replace(/:.*/, "");
}

async function run(
  name: string,
  env: Record<string, string>,
  args: string[],
  entrypoint = images[name]?.entrypoint,
): Promise<ChildProcess> {
  const image = images[name];
  if (!image || !entrypoint) throw new Error(`There is no image of ${name}`);
  return runImage({ ...image, entrypoint }, folder.path, env, args);
}

async function isReady({ env }: Placement): Promise<void> {
  await eventually(async () => {
    const { status } = await fetch(`http://127.0.0.1:${env.OPS_PORT}/readyz`);
    assert.equal(status, 200);
  });
}

async function stop(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, "exit");
}
