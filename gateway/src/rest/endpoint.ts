import type { DescMethod } from "@bufbuild/protobuf";
import { SpanKind } from "@opentelemetry/api";
import type { Actor } from "@tidings/rpc/actor";
import { denied } from "@tidings/rpc/fault";
import { type Requirement, reach, requirementOf } from "@tidings/rpc/permission";
import { inSpan } from "@tidings/runtime/telemetry";
import type { NextFunction, Request, Router } from "express";
import { ambiguousCredentials } from "../auth/sent-credential.ts";
import { BATCH, isForm, readBody, SINGLE } from "./body.ts";
import { methodNotAllowed } from "./error.ts";
import type { ApiResponse, Exchange } from "./exchange.ts";
import { discard } from "./receive.ts";

export type Handler = (request: Request, response: ApiResponse) => Promise<void>;
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
/** Methods that a POST may stand for. */
const OVERRIDABLE = ["PUT", "PATCH", "DELETE"];

interface Place {
  handlers: Partial<Record<Method, Handler>>;
  elsewhere?: Partial<Record<Method, string>>;
  /** The method that is meant; looked at before the body, so that an unwanted body is never read. */
  methodOf(request: Request, exchange: Exchange): Promise<string>;
}

/**
 * Puts the handlers of a path in its place. The path is matched first, then the body is read, then the method decides:
 * a POST may stand for another one. A method without a handler is 405 with `Allow`. `:id` is digits; anything else is
 * another path. `elsewhere` has the paths of methods that newcomers look for here.
 */
export function endpoint(
  router: Router,
  path: string,
  handlers: Partial<Record<Method, Handler>>,
  elsewhere: Partial<Record<Method, string>> = {},
): void {
  put(router, path, { handlers, elsewhere, methodOf: effectiveMethod });
}

/** A path that takes files: its body is not read, but left to the handler. Nothing but a POST is answered there. */
export function uploadEndpoint(router: Router, path: string, handler: Handler): void {
  put(router, path, { handlers: { POST: handler }, methodOf: async ({ method }) => method });
}

function put(router: Router, path: string, { handlers, elsewhere = {}, methodOf }: Place): void {
  const allowed = Object.keys(handlers).join(", ");
  const hasId = path.includes(":id");
  const candidates = Object.fromEntries(METHODS.map((method) => [method, meant(method, handlers)]));
  router.all(path, async (request: Request, response: ApiResponse, next: NextFunction) => {
    if (hasId && !/^\d+$/.test(String(request.params.id))) return next("route");
    const { exchange } = response.locals;
    exchange.route = `${request.baseUrl}${path}`;
    const refused = () => {
      response.setHeader("allow", allowed);
      const other = elsewhere[request.method as Method]?.replace(":id", String(request.params.id));
      return methodNotAllowed(other && `${request.method} ${request.baseUrl}${other}`);
    };
    if (!isWanted(request.method, handlers)) throw refused();
    if (!candidates[request.method]?.some((handler) => mayCall(exchange.actor, handler))) {
      await discard(request);
      throw denied();
    }
    const method = await methodOf(request, exchange);
    const handler = handlers[method as Method];
    if (!handler) throw refused();
    const traceparent = request.get("traceparent");
    await inSpan(`${method} ${exchange.route}`, { kind: SpanKind.SERVER, traceparent }, () =>
      handler(request, response),
    );
  });
}

/** The handlers that a request may be for: the body of a POST may say that it is another method. */
function meant(method: string, handlers: Partial<Record<Method, Handler>>): Handler[] {
  const names = method === "HEAD" ? ["GET"] : method === "POST" ? ["POST", ...OVERRIDABLE] : [method];
  return names.flatMap((name) => handlers[name as Method] ?? []);
}

const requirements = new WeakMap<Handler, Requirement>();

/**
 * A handler that ends in a call of `rpc`: callers without its right are refused before the body is read. The service that
 * owns the method asks for the right again.
 */
export function needing(rpc: DescMethod, handler: Handler): Handler {
  requirements.set(handler, requirementOf(rpc.parent, rpc));
  return handler;
}

function mayCall(actor: Actor, handler: Handler): boolean {
  const needed = requirements.get(handler);
  return !needed || reach(actor, needed.base, needed.verb) !== "none";
}

function isWanted(method: string, handlers: Partial<Record<Method, Handler>>): boolean {
  if (method === "HEAD") return "GET" in handlers;
  if (method === "POST" && OVERRIDABLE.some((other) => other in handlers)) return true;
  return method in handlers;
}

/** Reads the body of a write, which may name the method that is meant. A HEAD is a GET whose body Node leaves out. */
async function effectiveMethod(request: Request, exchange: Exchange): Promise<string> {
  const { method } = request;
  if (method === "HEAD") return "GET";
  const isBatch = request.baseUrl.endsWith("/batch");
  if (method === "GET" || (method === "DELETE" && !isBatch)) return method;
  exchange.body = exchange.form ?? (await readBody(request, isBatch ? BATCH : SINGLE));
  if (!exchange.form && isForm(request) && hasToken(exchange.body)) throw ambiguousCredentials();
  if (method !== "POST") return method;
  const sent = exchange.body as { _method?: unknown } | null;
  const wanted = request.headers["x-http-method-override"] ?? sent?._method ?? exchange.query._method;
  const name = typeof wanted === "string" ? wanted.toUpperCase() : "";
  return OVERRIDABLE.includes(name) ? name : method;
}

function hasToken(body: unknown): boolean {
  return typeof body === "object" && body !== null && "access_token" in body;
}
