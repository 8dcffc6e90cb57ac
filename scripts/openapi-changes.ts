import type { Document, Operation } from "@tidings/gateway/openapi/document";
import type { Schema } from "@tidings/gateway/route/schema";
import { OPENAPI_FILE } from "./openapi-file.ts";
import { type Compare, resolved, schemaComparer } from "./schema-losses.ts";
import { runTool } from "./tool.ts";

/** Changes that break clients are named here, each in a line of its own, word by word as the check has it. */
export const NAMED_CHANGES_FILE = "docs/api-changes.md";

/**
 * Changes since the commit before, or in the one that is being made, that break clients and are not named: a line of the same change or
 * commit names each, so that an older line allows nothing.
 */
export async function unnamedChanges(text: string, names: string): Promise<string[]> {
  for (const commit of ["HEAD", "HEAD~1"]) {
    const kept = await keptIn(commit, OPENAPI_FILE);
    if (kept && kept !== text) {
      const changes = changesBetween(JSON.parse(kept), JSON.parse(text));
      return unnamed(changes, { before: (await keptIn(commit, NAMED_CHANGES_FILE)) ?? "", after: names });
    }
  }
  return [];
}

/** The changes that no line names which was not there before. */
export function unnamed(changes: string[], { before, after }: { before: string; after: string }): string[] {
  const countIn = (text: string, change: string) =>
    text.split("\n").filter((line) => line === `- ${change}`).length;
  return changes.filter((change) => countIn(after, change) <= countIn(before, change));
}

/** Undefined where the commit has no such file, where a shallow clone does not have the commit, and without git. */
async function keptIn(commit: string, file: string): Promise<string | undefined> {
  const show = runTool({ command: "git", args: ["show", `${commit}:${file}`] });
  const { ok, output } = await show.catch(() => ({ ok: false, output: "" }));
  return ok ? output : undefined;
}

/** The losses of a client of the first description with the second one. */
export function changesBetween(before: Document, after: Document): string[] {
  const compare = schemaComparer(before, after);
  const losses = Object.entries(before.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, was]) => {
      const name = `${method.toUpperCase()} ${path}`;
      const is = after.paths[path]?.[method];
      if (!is) return [`${name} is gone`];
      const sides = { name, before, after, compare };
      return [
        ...parameterLosses(parametersOf(before, was), parametersOf(after, is), sides),
        ...bodyLosses(bodyOf(was), bodyOf(is), sides),
        ...answerLosses(was, is, sides),
      ];
    }),
  );
  return [...new Set(losses)];
}

interface Sides {
  /** `GET /api/tags` */
  name: string;
  before: Document;
  after: Document;
  compare: Compare;
}

interface Parameter {
  in: string;
  name: string;
  required?: boolean;
  schema?: Schema;
}

function parametersOf(document: Document, { parameters }: Operation): Map<string, Parameter> {
  const all = (parameters as Parameter[]).map((parameter) => resolved(document, parameter));
  return new Map(all.map((parameter) => [`${parameter.in} parameter ${parameter.name}`, parameter]));
}

function parameterLosses(
  was: Map<string, Parameter>,
  is: Map<string, Parameter>,
  { name, compare }: Sides,
): string[] {
  const kept = [...was].flatMap(([parameter, { schema = {} }]) => {
    const now = is.get(parameter);
    if (!now) return [`${name} has no ${parameter} any more`];
    return compare(`${name} ${parameter}`, schema, now.schema ?? {}, "sent");
  });
  const needed = [...is].filter(
    ([parameter, { required }]) => required && was.get(parameter)?.required !== true,
  );
  return [...kept, ...needed.map(([parameter]) => `${name} needs the ${parameter}`)];
}

interface Body {
  required?: boolean;
  content?: Content;
}

type Content = Record<string, { schema?: Schema }>;

function bodyOf({ requestBody = {} }: Operation): Body {
  return requestBody as Body;
}

function bodyLosses(was: Body, is: Body, { name, compare }: Sides): string[] {
  return [
    ...(is.required && !was.required ? [`${name} needs a body`] : []),
    ...contentLosses(was.content, is.content, (type, old, now) =>
      now ? compare(`${name} body`, old, now, "sent") : [`${name} takes no ${type} any more`],
    ),
  ];
}

/** Errors have one body, which is that of every operation. */
function answerLosses(was: Operation, is: Operation, { name, before, after, compare }: Sides): string[] {
  type Response = { content?: Content; headers?: object };
  return Object.keys(was.responses).flatMap((status) => {
    const isError = status >= "400";
    const old = resolved(before, was.responses[status] as Response);
    const answered = is.responses[status] as Response | undefined;
    const now = answered && resolved(after, answered);
    if (!now) return isError ? [] : [`${name} does not answer ${status} any more`];
    const headers = Object.keys(old.headers ?? {}).filter(
      (header) => !Object.hasOwn(now.headers ?? {}, header),
    );
    return [
      ...headers.map(
        (header) => `${isError ? status : `${name} ${status}`} has no header ${header} any more`,
      ),
      ...contentLosses(old.content, now.content, (type, one, other) =>
        other
          ? compare(isError ? status : `${name} ${status}`, one, other, "answered")
          : [`${name} does not answer ${type} any more`],
      ),
    ];
  });
}

function contentLosses(
  was: Content = {},
  is: Content = {},
  losses: (type: string, was: Schema, is: Schema | undefined) => string[],
): string[] {
  return Object.entries(was).flatMap(([type, { schema = {} }]) =>
    losses(type, schema, is[type] && (is[type].schema ?? {})),
  );
}
