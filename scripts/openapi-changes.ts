import type { Document, Operation } from "@tidings/gateway/openapi/document";
import type { Schema } from "@tidings/gateway/route/schema";
import { OPENAPI_FILE } from "./openapi-file.ts";
import { runTool } from "./tool.ts";

/** Changes that break clients are named here, each in a line of its own, word by word as the check has it. */
export const NAMED_CHANGES_FILE = "docs/api-changes.md";

/** Changes since the commit before, or in the one that is being made, that break clients. */
export async function breakingChanges(text: string): Promise<string[]> {
  for (const commit of ["HEAD", "HEAD~1"]) {
    const kept = await keptIn(commit);
    if (kept && kept !== text) return changesBetween(JSON.parse(kept), JSON.parse(text));
  }
  return [];
}

/** Undefined where the commit has no description, where a shallow clone does not have the commit, and without git. */
async function keptIn(commit: string): Promise<string | undefined> {
  const show = runTool({ command: "git", args: ["show", `${commit}:${OPENAPI_FILE}`] });
  const { ok, output } = await show.catch(() => ({ ok: false, output: "" }));
  return ok ? output : undefined;
}

/** The losses of a client of the first description with the second one. */
export function changesBetween(before: Document, after: Document): string[] {
  return [...changedOperations(before, after), ...changedSchemas(before, after)];
}

function changedOperations(before: Document, after: Document): string[] {
  return Object.entries(before.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const name = `${method.toUpperCase()} ${path}`;
      const now = after.paths[path]?.[method];
      if (!now) return [`${name} is gone`];
      return [
        ...missing(parametersOf(operation), parametersOf(now)).map(
          (parameter) => `${name} has no ${parameter} any more`,
        ),
        ...missing(successesOf(operation), successesOf(now)).map(
          (status) => `${name} does not answer ${status} any more`,
        ),
      ];
    }),
  );
}

function missing(before: string[], after: string[]): string[] {
  return before.filter((name) => !after.includes(name));
}

function parametersOf({ parameters }: Operation): string[] {
  return (parameters as { $ref?: string; in?: string; name?: string }[]).map(
    (parameter) => parameter.$ref ?? `${parameter.in} parameter ${parameter.name}`,
  );
}

function successesOf({ responses }: Operation): string[] {
  return Object.keys(responses).filter((status) => status < "400");
}

function changedSchemas(before: Document, after: Document): string[] {
  return Object.entries(before.components.schemas).flatMap(([name, schema]) => {
    const now = after.components.schemas[name];
    if (!now) return [`${name} is gone`];
    const properties = membersOf(now);
    return Object.entries(membersOf(schema)).flatMap(([member, was]) => {
      const is = properties[member];
      if (!is) return [`${name}.${member} is gone`];
      return name.endsWith("Input")
        ? narrowed(`${name}.${member}`, was, is)
        : widened(`${name}.${member}`, was, is);
    });
  });
}

function membersOf({ properties = {} }: Schema): Record<string, Schema> {
  return properties as Record<string, Schema>;
}

/** A member that is sent may not take less than before. */
function narrowed(name: string, was: Schema, is: Schema): string[] {
  const types = missing(typesOf(was), typesOf(is)).map((type) => `${name} takes no ${type} any more`);
  const words = is.enum ? missing((was.enum ?? []) as string[], is.enum as string[]) : [];
  const limits = ["maxLength", "maxItems", "maximum"].filter(
    (limit) => Number(is[limit] ?? Infinity) < Number(was[limit] ?? Infinity),
  );
  const minimum = Number(is.minimum ?? -Infinity) > Number(was.minimum ?? -Infinity) ? ["minimum"] : [];
  return [
    ...types,
    ...words.map((word) => `${name} takes no ${word} any more`),
    ...[...limits, ...minimum].map((limit) => `${name} has a narrower ${limit}`),
  ];
}

/** A member that is answered may not be of another type than before. */
function widened(name: string, was: Schema, is: Schema): string[] {
  return missing(typesOf(is), typesOf(was)).map((type) => `${name} may be ${type}`);
}

function typesOf({ type }: Schema): string[] {
  return type === undefined ? [] : [type].flat().map(String);
}
