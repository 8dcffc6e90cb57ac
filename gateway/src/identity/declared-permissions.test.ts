import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { DescService } from "@bufbuild/protobuf";
import { LineService } from "@tidings/proto/tidings/api/v1/line";
import { resource, Verb } from "@tidings/proto/tidings/api/v1/options";
import { resourceSchemas } from "@tidings/proto/tidings/resources";
import { optionOf } from "@tidings/rpc/option";
import { requirementOf } from "@tidings/rpc/permission";
import { permissionTable } from "./permission-table.ts";

/** Permissions that no role can hold: administrators alone pass. */
const ADMINISTRATORS_ONLY = new Set([
  "audit:log",
  "email:holds",
  "email:kept",
  "email:notices",
  "tracking:sites",
]);

/** Open to whoever is signed in: a row is shown by the permission of what it is about. */
const BY_ROW = new Set(["jobs"]);

const ACTIONS: Partial<Record<Verb, string>> = {
  [Verb.VIEW]: "view",
  [Verb.CREATE]: "create",
  [Verb.EDIT]: "edit",
  [Verb.DELETE]: "delete",
  [Verb.PUBLISH]: "publish",
};

const generated = join(import.meta.dirname, "../../../proto/gen");
/** All but the transport, whose calls have permissions of their own. */
const services: DescService[] = [];
for (const file of globSync("tidings/**/*_pb.ts", { cwd: generated })) {
  const exported: Record<string, DescService> = await import(join(generated, file));
  const declared = Object.values(exported).filter(({ kind }) => kind === "service");
  services.push(...declared.filter(({ typeName }) => typeName !== LineService.typeName));
}

/** Why no role could hold a declared permission; undefined when one could. */
function problemOf(base: string, verb: Verb): string | undefined {
  if (verb === Verb.INTERNAL || ADMINISTRATORS_ONLY.has(base)) return undefined;
  if (verb === Verb.ANY && BY_ROW.has(base)) return undefined;
  const actions = permissionTable.get(base);
  if (!actions) return `${base} is not in the permission table`;
  const action = ACTIONS[verb];
  if (!action || [action, `${action}own`, "full"].some((name) => actions.includes(name))) return undefined;
  return `${base} has no action ${action}`;
}

test("every permission that a method or a resource declares is in the table, so that a role can hold it", () => {
  const ofMethods = services.flatMap((service) =>
    service.methods.map((method) => {
      const { base, verb } = requirementOf(service, method);
      return problemOf(base, verb);
    }),
  );
  const ofResources = resourceSchemas.map((schema) =>
    problemOf(optionOf(schema, resource).permission, Verb.VIEW),
  );
  assert.ok(ofMethods.length > 100 && ofResources.length > 20);
  const problems = [...ofMethods, ...ofResources].filter((problem) => problem !== undefined);
  assert.deepEqual([...new Set(problems)], []);
});
