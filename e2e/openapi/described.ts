import { appendFileSync } from "node:fs";
import { type Document, type Operation, templateOf } from "@tidings/gateway/openapi/document";
import { PathTree } from "@tidings/gateway/route/path-tree";
import { apiOfDefaults } from "@tidings/scripts/openapi-file";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { allRoutes } from "../permission/routes.ts";

/** An exchange that a test had with the API. */
export interface Exchange {
  method: string;
  /** With its query. */
  path: string;
  /** The method that a POST stands for. */
  override?: string | undefined;
  status: number;
  contentType: string | null;
  text: string;
}

/** Collections within entities are answered in one of two forms, by the dialect that an operator chose. */
const usual = apiOfDefaults({ nested: "byId" }).document;
const documents = [describe(() => usual), describe(() => apiOfDefaults({ nested: "array" }).document)];
/** Answers to requests that select members have some of them. */
const partial = documents.map(({ document }) => describe(() => withoutRequired(document())));

const places = new PathTree<string>();
for (const { path, parameters } of new Map(allRoutes.map((route) => [route.path, route])).values())
  places.put(path, templateOf(path), parameters);

/** A line for each operation and status that was seen goes there: the command that runs all tests asks for it. */
const { OPENAPI_COVERAGE } = process.env;
const covered = new Set<string>();

/** Throws for an answer of the API that its description does not have. */
export function assertDescribed(exchange: Exchange): void {
  const { method, path, override, status } = exchange;
  const pathname = path.split("?", 1)[0] ?? "";
  if (!pathname.startsWith("/api/") && pathname !== "/api") return;
  const place = placeOf(pathname);
  const methods = place === undefined ? undefined : usual.paths[place];
  const name = (override ?? method).toLowerCase().replace("head", "get");
  const operation = methods?.[name];
  if (!operation) {
    assertError(exchange);
    return;
  }
  cover(`${operation.operationId} ${status}`);
  if (method === "HEAD") return;
  const isPartial = /[?&](select|minimal)/.test(path);
  const [described, other] = (isPartial ? partial : documents) as [Described, Described];
  const problem = described.problemOf(place as string, name, exchange);
  if (problem !== undefined && other.problemOf(place as string, name, exchange) !== undefined)
    throw new Error(
      `${method} ${path} ${status} is not as described: ${problem}\n${exchange.text.slice(0, 600)}`,
    );
}

function withoutRequired(document: Document): Document {
  return JSON.parse(JSON.stringify(document), (name, value) =>
    name === "required" && Array.isArray(value) ? undefined : value,
  );
}

function placeOf(pathname: string): string | undefined {
  try {
    return places.find(pathname.slice("/api".length) || "/")?.value;
  } catch {
    return undefined; // a path that is not percent-encoded UTF-8 leads nowhere
  }
}

/** Paths and methods that are not described answer errors alone. */
function assertError({ method, path, status, text }: Exchange): void {
  if (status < 400) throw new Error(`${method} ${path} ${status} is not described\n${text.slice(0, 300)}`);
}

function cover(line: string): void {
  if (covered.has(line)) return;
  covered.add(line);
  if (OPENAPI_COVERAGE) appendFileSync(OPENAPI_COVERAGE, `${line}\n`);
}

interface Described {
  document(): Document;
  problemOf(place: string, method: string, exchange: Exchange): string | undefined;
}

/** Makes the document when it is first asked for: most test files need one of the four. */
function describe(make: () => Document): Described {
  const validators = new Map<string, ValidateFunction>();
  const document = once(make);
  const ajv = once(() => {
    // The descriptions themselves are checked by openapi.test.ts.
    const options = { strict: false, allErrors: false, validateFormats: true, validateSchema: false };
    const made = new Ajv2020(options).addSchema(document(), "api");
    addFormats.default(made);
    return made;
  });
  const validatorOf = (pointer: string): ValidateFunction => {
    const known = validators.get(pointer) ?? ajv().compile({ $ref: `api${pointer}` });
    validators.set(pointer, known);
    return known;
  };
  return {
    document,
    problemOf(place, method, { status, contentType, text }) {
      const operation = document().paths[place]?.[method] as Operation;
      const response = operation.responses[status] as { $ref?: string; content?: Record<string, unknown> };
      if (!response) return `the status is none of ${Object.keys(operation.responses)}`;
      if (!("content" in response) && !response.$ref)
        return text === "" ? undefined : "the answer has a body";
      const at = response.$ref ?? `#/paths/${escaped(place)}/${method}/responses/${status}`;
      const content = response.content ?? { "application/json": {} };
      const type = contentType?.split(";", 1)[0] ?? "";
      if (!(type in content)) return `the content type ${type} is none of ${Object.keys(content)}`;
      if (type !== "application/json") return undefined;
      const validate = validatorOf(`${at}/content/${escaped(type)}/schema`);
      if (validate(JSON.parse(text))) return undefined;
      return ajv().errorsText(validate.errors?.slice(0, 5), { dataVar: "answer" });
    },
  };
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** A member of a JSON pointer in a URI fragment (RFC 6901, 6). */
function escaped(member: string): string {
  return encodeURIComponent(member.replaceAll("~", "~0").replaceAll("/", "~1"));
}
