import type { Hash } from "node:crypto";
import { type Expected, preconditionFailed } from "@tidings/rpc/expected";
import { denied } from "@tidings/rpc/fault";
import type { NextFunction, Request } from "express";
import type { RateLimiterAbstract } from "rate-limiter-flexible";
import { ambiguousCredentials } from "../auth/sent-credential.ts";
import { inHttpSpan } from "../http-span.ts";
import { typeOf } from "../resources.ts";
import { isForm, readBody } from "../rest/body.ts";
import { expectedEntity } from "../rest/entity-tag.ts";
import { methodNotAllowed } from "../rest/error.ts";
import type { ApiResponse, Exchange } from "../rest/exchange.ts";
import { bodyDigest, readIdempotencyKey } from "../rest/idempotency-key.ts";
import { pathId } from "../rest/path-id.ts";
import { discard } from "../rest/receive.ts";
import { NO_BODY } from "./body-form.ts";
import type { NamedEntity } from "./parameter.ts";
import { PathTree } from "./path-tree.ts";
import { mayAsk } from "./right.ts";
import { type Method, type Route, withAliases } from "./route.ts";

/** Methods that a POST may stand for. */
const OVERRIDABLE: Method[] = ["PUT", "PATCH", "DELETE"];

/** All routes of one path. */
interface Place {
  /** Template below /api. */
  path: string;
  routes: Map<string, Route>;
  allowed: string;
  /** By the method of a request, the routes that it may be for: the body of a POST may say that it is another method. */
  candidates: Map<string, Route[]>;
}

/**
 * Answers requests by their routes. The path is matched first, then the caller's right, then the body is read, then the method decides.
 * A method without a route is 405 with `Allow`. Throws when two routes have one path and method, or one name.
 */
export function dispatch(routes: Route[], keyLimiter: RateLimiterAbstract) {
  const tree = treeOf(routes.flatMap(withAliases));
  return async (request: Request, response: ApiResponse, next: NextFunction): Promise<void> => {
    const found = tree.find(request.path);
    if (!found) return next();
    const { value: place, texts } = found;
    const { exchange } = response.locals;
    exchange.route = `/api${place.path}`;
    const digest = bodyDigest(request);
    const route = await chosen(place, { request, response, texts, digest });
    if (digest && route.isWrite) {
      const keyed = { request, response, route: `${route.method} ${exchange.route}`, digest };
      exchange.idempotencyKey = await readIdempotencyKey(keyed, keyLimiter);
    }
    if (route.isWrite) exchange.expected = expectedOf(route, request, texts);
    tellDeprecation(response, route, texts);
    const answered = { request, response, method: route.method, route: exchange.route };
    await inHttpSpan(answered, () => route.answerTo(request, response, texts));
  };
}

function treeOf(routes: Route[]): PathTree<Place> {
  const tree = new PathTree<Place>();
  const names = new Set<string>();
  for (const { operation } of routes) {
    if (names.has(operation)) throw new Error(`the operation ${operation} is there twice`);
    names.add(operation);
  }
  const byPath = Map.groupBy(routes, ({ path }) => path);
  for (const [path, own] of byPath) {
    const byMethod = new Map<string, Route>();
    for (const route of own) {
      if (byMethod.has(route.method)) throw new Error(`${route.method} ${path} is there twice`);
      byMethod.set(route.method, route);
    }
    tree.put(path, placeOf(path, byMethod), own[0]?.parameters);
  }
  return tree;
}

function placeOf(path: string, routes: Map<string, Route>): Place {
  const named = (...methods: string[]) => methods.flatMap((method) => routes.get(method) ?? []);
  const isUpload = routes.get("POST")?.body.isUpload;
  const candidates = new Map<string, Route[]>(
    ["GET", ...OVERRIDABLE].map((method) => [method, named(method)]),
  );
  candidates.set("HEAD", named("GET"));
  candidates.set("POST", isUpload ? named("POST") : named("POST", ...OVERRIDABLE));
  return { path, routes, allowed: [...routes.keys()].join(", "), candidates };
}

interface Found {
  request: Request;
  response: ApiResponse;
  texts: Record<string, string>;
  /** Reads the body of a request that has an idempotency key. */
  digest: Hash | undefined;
}

/** The route that a request is for; its body is read then. */
async function chosen(place: Place, found: Found): Promise<Route> {
  const { request, response, digest } = found;
  const { exchange } = response.locals;
  const candidates = place.candidates.get(request.method) ?? [];
  if (candidates.length === 0) throw refused(place, found);
  // Callers without the right are refused before the body is read.
  if (!candidates.some(({ right }) => mayAsk(exchange.actor, right))) {
    await discard(request);
    throw denied();
  }
  const route = place.routes.get(await effectiveMethod(request, exchange, { candidates, digest }));
  if (!route) throw refused(place, found);
  return route;
}

function refused({ allowed, routes }: Place, { request, response, texts }: Found) {
  response.setHeader("allow", allowed);
  const [path] = [...routes.values()].flatMap(({ elsewhere }) => elsewhere?.[request.method as Method] ?? []);
  return methodNotAllowed(path && `${request.method} /api${filled(path, texts)}`);
}

function filled(template: string, texts: Record<string, string>): string {
  return template.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(texts[name] ?? ""));
}

/** Reads the body, which may name the method that is meant. A HEAD is a GET whose body Node leaves out. */
async function effectiveMethod(
  request: Request,
  exchange: Exchange,
  { candidates, digest }: { candidates: Route[]; digest: Hash | undefined },
): Promise<string> {
  const { method } = request;
  if (method === "HEAD") return "GET";
  const body = candidates[0]?.body ?? NO_BODY;
  if (method === "GET" || body.isUpload || (method === "DELETE" && body === NO_BODY)) return method;
  if (exchange.form) digest?.update(JSON.stringify(exchange.form));
  exchange.body = exchange.form ?? (await readBody(request, body.limits, digest));
  if (!exchange.form && isForm(request) && hasToken(exchange.body)) throw ambiguousCredentials();
  if (method !== "POST") return method;
  const sent = exchange.body as { _method?: unknown } | null;
  const wanted = request.headers["x-http-method-override"] ?? sent?._method ?? exchange.query._method;
  const name = typeof wanted === "string" ? wanted.toUpperCase() : "";
  return OVERRIDABLE.some((method) => method === name) ? name : method;
}

function hasToken(body: unknown): boolean {
  return typeof body === "object" && body !== null && "access_token" in body;
}

/**
 * The conditions of a write about the first entity that its path names (RFC 9110, 13.1). Throws PRECONDITION_FAILED where it names none: what
 * is not there has no tag.
 */
function expectedOf(
  { parameters }: Route,
  { headers }: Request,
  texts: Record<string, string>,
): Expected | undefined {
  const { "if-match": ifMatch, "if-none-match": ifNoneMatch } = headers;
  if (ifMatch === undefined && ifNoneMatch === undefined) return undefined;
  const [name, entity] = namedEntity(parameters) ?? [];
  const expected = expectedEntity(pathId(texts[name ?? ""]), { ifMatch, ifNoneMatch });
  if (expected && !entity && ifMatch !== undefined) throw preconditionFailed();
  return expected && entity && { type: typeOf(entity.resource), entities: [expected] };
}

/** The first entity that a path names, with its parameter. */
function namedEntity(parameters: Route["parameters"]): [name: string, entity: NamedEntity] | undefined {
  const [first] = Object.entries(parameters).flatMap(([name, { entity }]) =>
    entity ? [[name, entity] as [string, NamedEntity]] : [],
  );
  return first;
}

/** An older path says so: since when (RFC 9745), until when (RFC 8594), and what to use (RFC 5829). */
function tellDeprecation(response: ApiResponse, route: Route, texts: Record<string, string>): void {
  const { alias } = route;
  if (!alias) return;
  response.setHeader("deprecation", `@${Date.parse(alias.since) / 1_000}`);
  if (alias.sunset) response.setHeader("sunset", new Date(alias.sunset).toUTCString());
  response.setHeader("link", `</api${filled(alias.successor, texts)}>; rel="successor-version"`);
}
