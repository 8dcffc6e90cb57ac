import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { stringify } from "yaml";
import { assertValid } from "./assert-valid.ts";
import { componentOf, keyOf, type Manifest } from "./manifest.ts";
import { HELMS } from "./programs.ts";
import { lint, PROFILES, render } from "./render.ts";

const isUpdate = process.env.UPDATE === "1";

const plain = await render();

test("the chart by itself is valid and as it was", async () => {
  await assertValid(plain);
  assertGolden("default", plain);
});

for (const profile of PROFILES) {
  test(`${profile}: lint finds nothing, and Helm 3 and 4 make the same of it`, async () => {
    const [three, four] = await Promise.all(
      HELMS.map(async (helm) => {
        await lint(helm, profile);
        return render({ helm, profile });
      }),
    );
    assert.deepEqual(three, four);
  });

  test(`${profile}: every object is as its kind is defined, and as it was`, async () => {
    const manifests = await render({ profile });
    await assertValid(manifests);
    assertGolden(profile, changes(manifests));
  });
}

/** The objects of a profile that differ from the chart without it, and those that are gone. */
function changes(manifests: Manifest[]): unknown[] {
  const before = new Map(plain.map((manifest) => [keyOf(manifest), manifest]));
  const keys = new Set(manifests.map(keyOf));
  const gone = [...before.keys()].filter((key) => !keys.has(key));
  return [
    ...manifests.filter((manifest) => !isDeepStrictEqual(manifest, before.get(keyOf(manifest)))),
    ...(gone.length > 0 ? [{ gone }] : []),
  ];
}

/** An object without the files that the chart copies into it unchanged. */
function withoutFiles(object: unknown): unknown {
  const manifest = object as Manifest;
  if (manifest.kind === "PrometheusRule") return { ...manifest, spec: "files/alerts.yaml" };
  if (manifest.kind !== "ConfigMap") return manifest;
  return { ...manifest, data: Object.keys(manifest.data ?? {}) };
}

/** `npm run test:charts -- --update` writes down what is right now; its difference is looked at like code. */
function assertGolden(name: string, objects: unknown[]): void {
  const path = join(import.meta.dirname, "golden", `${name}.yaml`);
  const text = objects
    .filter((object) => componentOf((object as Manifest).metadata?.labels) !== "dashboard") // rules.test.ts counts them
    .map(
      (object) => `---\n${stringify(withoutFiles(object), { aliasDuplicateObjects: false, lineWidth: 0 })}`,
    )
    .join("");
  if (isUpdate) writeFileSync(path, text);
  const [was, is] = [readFileSync(path, "utf8"), text].map((whole) => whole.split("\n"));
  const line = is?.findIndex((content, index) => content !== was?.[index]) ?? 0;
  const where = `${path}:${line + 1}\n- ${was?.[line]}\n+ ${is?.[line]}`;
  assert.ok(isDeepStrictEqual(was, is), `${where}\nIf it is meant so: npm run test:charts -- --update`);
}
