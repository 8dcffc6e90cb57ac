import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertValid } from "@tidings/charts/test/assert-valid";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { parse, parseAllDocuments } from "yaml";
import { bundleScripts } from "./bundle-scripts.ts";
import { K6 } from "./k6.ts";

const folder = join(import.meta.dirname, "../cluster");
const textOf = (name: string) => readFileSync(join(folder, name), "utf8");
/** The largest ConfigMap. */
const CONFIG_MAP_BYTES = 1024 * 1024;

interface TestRun {
  spec: {
    arguments: string;
    script: { configMap: { file: string } };
    runner: { image: string; env: { name: string }[] };
  };
}

test("the manifests for a cluster match the definitions of their kinds", async () => {
  const manifests = ["test-run.yaml", "receiver.yaml"].flatMap((name) =>
    parseAllDocuments(textOf(name)).map((document) => document.toJS()),
  );
  await assertValid(manifests, [folder]);
});

test("a run in a cluster is by the same k6, and gives the script only variables that it reads", () => {
  const { spec } = parse(textOf("test-run.yaml")) as TestRun;
  assert.equal(spec.runner.image, `grafana/k6:${K6.version.slice(1)}`);
  const settings = readFileSync(join(import.meta.dirname, "../k6/settings.ts"), "utf8");
  const read = new Set([...settings.matchAll(/text\("(\w+)"/g)].map(([, name]) => name));
  const told = [...spec.arguments.matchAll(/-e (\w+)=/g)].map(([, name]) => name);
  assert.deepEqual(
    [...told, ...spec.runner.env.map(({ name }) => name)].filter((name) => !read.has(name)),
    [],
  );
});

test("the script fits into a ConfigMap, and the receiver too", async (t) => {
  const { path, remove } = await temporaryFolder();
  t.after(remove);
  for (const file of Object.values(await bundleScripts(path)))
    assert.ok(readFileSync(file).length < CONFIG_MAP_BYTES, file);
});
