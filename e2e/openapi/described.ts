import { appendFileSync } from "node:fs";
import { type Document, type Operation, templateOf } from "@tidings/gateway/openapi/document";
import { HEADERS } from "@tidings/gateway/openapi/headers";
import { queryOf } from "@tidings/gateway/rest/query";
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
  headers: Headers;
  text: string;
  /** The query is made up: its parameters are nobody's. */
  hasMadeUpQuery?: boolean;
}

/** Headers of HTTP itself, of its connections, and of browsers' security: the same at every path. */
const UNDESCRIBED_HEADERS = new Set([
  ...["connection", "content-length", "content-type", "date", "keep-alive", "transfer-encoding"],
  ...["cache-control", "content-security-policy", "referrer-policy", "strict-transport-security"],
  "x-content-type-options",
  // The dialect of another product names the version so.
  "mautic-version",
]);
const ALL_HEADERS = [...Object.keys(HEADERS), "Allow"];
/** Parameters of any request: a token, and the method that a POST stands for. */
const ANYWHERE = ["access_token", "_method"];
/** Errors that are answered before it is known that there is no such path or method, and those that say so. */
const BEFORE_ROUTES = [400, 401, 403, 404, 405, 408, 413, 417, 429, 431, 503];

/** Collections within entities are answered in one of two forms, by the dialect that an operator chose. */
const usual = apiOfDefaults({ nested: "byId" }).document;
const general = describe(() => usual);
const documents = [general, describe(() => apiOfDefaults({ nested: "array" }).document)];
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
  const undescribed =
    undescribedHeader(exchange, headersOf(operation, status)) ?? undescribedParameter(exchange, operation);
  if (undescribed !== undefined)
    throw new Error(`${method} ${path} ${status} is not as described: ${undescribed}`);
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

interface DescribedResponse {
  $ref?: string;
  headers?: Record<string, unknown>;
  content?: Record<string, unknown>;
}

interface DescribedParameter {
  $ref?: string;
  in?: string;
  name?: string;
}

/** Follows a reference of a response or of a parameter. */
function resolved<T extends { $ref?: string }>(value: T): T {
  const [, , kind = "", name = ""] = value.$ref?.split("/") ?? [];
  return value.$ref === undefined ? value : ((usual.components[kind] as Record<string, T>)[name] as T);
}

function headersOf({ responses }: Operation, status: number): string[] {
  const response = responses[status] as DescribedResponse | undefined;
  return response ? Object.keys(resolved(response).headers ?? {}) : ALL_HEADERS;
}

function undescribedHeader({ headers }: Exchange, described: string[]): string | undefined {
  const known = new Set(described.map((name) => name.toLowerCase()));
  const [other] = [...headers.keys()].filter((name) => !known.has(name) && !UNDESCRIBED_HEADERS.has(name));
  return other === undefined ? undefined : `the header ${other} is none of ${described}`;
}

/** A parameter that took effect, or was ignored without a word, and that the description does not have. */
function undescribedParameter(
  { path, status, headers, hasMadeUpQuery = false }: Exchange,
  { parameters }: Operation,
): string | undefined {
  if (status >= 400 || hasMadeUpQuery) return undefined;
  const described = (parameters as DescribedParameter[])
    .map(resolved)
    .flatMap(({ in: place, name = "" }) => (place === "query" ? [name.replace("[]", "")] : []));
  const ignored = (headers.get("tidings-ignored") ?? "").split(", ").map((entry) => entry.split(";", 1)[0]);
  const known = new Set([...described, ...ANYWHERE, ...ignored]);
  // Batches of deletions take ids as parameters whose names are numbers: OpenAPI has names alone.
  const isId = (name: string) => known.has("ids") && /^\d+$/.test(name);
  const [other] = Object.keys(queryOf(path)).filter((name) => !known.has(name) && !isId(name));
  return other === undefined ? undefined : `the parameter ${other} is none of ${described}`;
}

/** Paths and methods that are not described answer errors alone, in their usual form. */
function assertError(exchange: Exchange): void {
  const { method, path, status, text } = exchange;
  const problem = BEFORE_ROUTES.includes(status)
    ? (undescribedHeader(exchange, ALL_HEADERS) ??
      (method === "HEAD" ? undefined : general.errorProblemOf(text)))
    : `the status is none of ${BEFORE_ROUTES}`;
  if (problem !== undefined)
    throw new Error(`${method} ${path} ${status} is not described: ${problem}\n${text.slice(0, 300)}`);
}

function cover(line: string): void {
  if (covered.has(line)) return;
  covered.add(line);
  if (OPENAPI_COVERAGE) appendFileSync(OPENAPI_COVERAGE, `${line}\n`);
}

interface Described {
  document(): Document;
  problemOf(place: string, method: string, exchange: Exchange): string | undefined;
  /** The same of the body of an error that belongs to no operation. */
  errorProblemOf(text: string): string | undefined;
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
  const invalid = (pointer: string, text: string): string | undefined => {
    const validate = validatorOf(pointer);
    if (validate(JSON.parse(text))) return undefined;
    return ajv().errorsText(validate.errors?.slice(0, 5), { dataVar: "answer" });
  };
  return {
    document,
    errorProblemOf: (text) => invalid("#/components/schemas/Errors", text),
    problemOf(place, method, { status, headers, text }) {
      const operation = document().paths[place]?.[method] as Operation;
      const response = operation.responses[status] as DescribedResponse | undefined;
      if (!response) return `the status is none of ${Object.keys(operation.responses)}`;
      const { content } = resolved(response);
      if (!content) return text === "" ? undefined : "the answer has a body";
      const at = response.$ref ?? `#/paths/${escaped(place)}/${method}/responses/${status}`;
      const type = headers.get("content-type")?.split(";", 1)[0] ?? "";
      if (!(type in content)) return `the content type ${type} is none of ${Object.keys(content)}`;
      if (type !== "application/json") return undefined;
      return invalid(`${at}/content/${escaped(type)}/schema`, text);
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
