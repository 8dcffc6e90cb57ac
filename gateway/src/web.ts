import { badRequest, Code, Fault, toFault, unavailable } from "@tidings/rpc/fault";
import { formNamedIn, type PublicKind, type PublicPath, publicPathOf } from "@tidings/rpc/public-paths";
import { publicRefusal } from "@tidings/rpc/public-refusals";
import { ACTOR_HEADER } from "@tidings/rpc/transfer";
import { BLANK_IMAGE } from "@tidings/runtime/blank-image";
import { arrivesWithin } from "@tidings/runtime/http-server";
import type { Log } from "@tidings/runtime/log";
import { PLAIN_POLICY, plainPage } from "@tidings/runtime/plain-page";
import type { Tls } from "@tidings/runtime/tls";
import type { Request, RequestHandler, Response } from "express";
import { createProxyMiddleware } from "http-proxy-middleware";
import type { RateLimiterAbstract } from "rate-limiter-flexible";
import { addressKey } from "./limits/address-key.ts";
import { consume, rateLimited, refusalOf } from "./limits/rate-limit.ts";
import type { Rank } from "./limits/shedding.ts";
import { OPEN_MAX, publicRefusals, type WebLimits } from "./limits/web-limits.ts";
import { type ErrorEntry, methodNotAllowed, sendError } from "./rest/error.ts";
import { wayToContent } from "./way-to-content.ts";

/** The public web: what the content service shows to everybody. */
export interface WebOptions {
  /** `host:port` of the content service's public side. */
  address: string;
  /** The certificate that both ends show to each other; no TLS when absent. */
  tls?: Tls | undefined;
  /** The host that is all the public web's; without one it has its paths on the API's host. */
  host: string | undefined;
  limits: WebLimits;
}

const ANSWER_TIMEOUT_MS = 30_000;
/** One for each open request: readers that are slow keep theirs, and the others need not wait for them. */
const CONNECTIONS = { keepAlive: true, maxSockets: OPEN_MAX, maxFreeSockets: 64 };
/** A hit, with all that a page may say of itself, and how long it may take to arrive. */
const HIT_BYTES_MAX = 64 * 1024;
const HIT_ARRIVAL_MAX_MS = 10_000;
/** A body that takes longer to arrive is waited for, and is no work meanwhile. */
const LATE_MS = 1_000;

/** Is this request for the public web? */
export function isPublic({ host }: WebOptions, request: Request): boolean {
  if (host !== undefined) return request.headers.host?.toLowerCase() === host;
  return publicPathOf(request.path) !== undefined;
}

/**
 * Passes a request on to the content service and its answer back, both as they come. Nothing of the API goes along: neither
 * credentials nor its cookies, and no answer sets a cookie of the API. Only answers of paths that are meant for it may be read by
 * other sites. Refusals are pages for people and JSON for scripts.
 */
export function webProxy({ address, tls, limits }: WebOptions, log: Log): RequestHandler {
  const { origin, agent } = wayToContent(address, tls, CONNECTIONS);
  const pass = createProxyMiddleware<Request, Response>({
    target: origin,
    agent,
    proxyTimeout: ANSWER_TIMEOUT_MS,
    xfwd: false,
    on: {
      proxyReq(outgoing, request, response) {
        if (!rowOf(request).takesCredentials) outgoing.removeHeader("authorization");
        outgoing.removeHeader("proxy-authorization");
        // Visitors have no actor.
        outgoing.removeHeader(ACTOR_HEADER);
        const cookies = foreignCookies(request.headers.cookie);
        if (cookies === "") outgoing.removeHeader("cookie");
        else outgoing.setHeader("cookie", cookies);
        for (const name of outgoing.getHeaderNames())
          if (name.startsWith("x-forwarded-") || name === "forwarded") outgoing.removeHeader(name);
        outgoing.setHeader("x-forwarded-for", limits.clientIp(request));
        outgoing.setHeader("x-request-id", String(response.getHeader("x-request-id")));
      },
      proxyRes({ headers }, request, response) {
        // An answer on its way is no work.
        response.locals.leave?.();
        if (!rowOf(request).isShared)
          for (const name of Object.keys(headers))
            if (name.startsWith("access-control-")) delete headers[name];
        // Each of the two connections ends by its own server's word.
        delete headers.connection;
        if (response.getHeader("connection") === "close") headers.connection = "close";
        const cookies = headers["set-cookie"]?.filter((cookie) => !isOurs(cookie));
        if (cookies) headers["set-cookie"] = cookies;
      },
      error: (error, request, response) => refuse(request, response as Response, unavailable(error), log),
    },
  });
  return async (request, response, next) => {
    response.locals.route = `public ${rowOf(request).kind}`;
    try {
      checkRequest(request, response);
      await admit(request, response, limits);
    } catch (error) {
      return refuse(request, response, error, log);
    }
    void pass(request, response, next);
  };
}

function rowOf({ path }: Request): PublicPath {
  return publicPathOf(path) ?? { path, kind: "page", methods: ["GET"] };
}

/** Counts a request in, or throws RATE_LIMITED or EXHAUSTED. */
async function admit(request: Request, response: Response, limits: WebLimits): Promise<void> {
  const { open, shedding } = limits;
  const { kind } = rowOf(request);
  const address = addressKey(limits.clientIp(request));
  try {
    await checkRates(request, kind, address, { limits, response });
    open.begin(address);
  } catch (refusal) {
    // Closing also drops the requests that are pipelined behind this one.
    response.setHeader("connection", "close");
    throw refusal;
  }
  response.once("close", () => open.end(address));
  shedding.admit(RANKS[kind]);
  let isOver = false;
  response.locals.leave = () => {
    if (!isOver) shedding.leave();
    isOver = true;
  };
  response.once("close", response.locals.leave);
  if (request.method === "POST") waitForBody(request, response, kind);
}

/** Slow senders take no place of those who are worked on. Their address has its share of open requests, and a hit has an end to its arrival. */
function waitForBody(request: Request, response: Response, kind: PublicKind): void {
  if (kind === "tracking") arrivesWithin(request, HIT_ARRIVAL_MAX_MS);
  const late = setTimeout(() => {
    if (!request.complete) response.locals.leave?.();
  }, LATE_MS).unref();
  response.once("close", () => clearTimeout(late));
}

const RANKS: Record<PublicKind, Rank> = {
  tracking: "hit",
  page: "read",
  preview: "read",
  download: "read",
  form: "write",
};

const SUBMISSION_PATH = "/form/submit";

async function checkRates(
  request: Request,
  kind: PublicKind,
  address: string,
  { limits, response }: { limits: WebLimits; response: Response },
): Promise<void> {
  if (limits.rate) await consume(limits.rate, address, response);
  const form = kind === "form" ? formNamedIn(request.url) : undefined;
  const own = limits.byKind.get(kind);
  if (own) await take(own, `${address} ${form ?? ""}`);
  // Submissions of which only the body names the form count together: the gateway reads no bodies.
  const counted = form ?? (request.path.startsWith(SUBMISSION_PATH) ? "" : undefined);
  if (counted !== undefined && limits.ofForm) await take(limits.ofForm, counted);
}

async function take(limiter: RateLimiterAbstract, key: string): Promise<void> {
  const refusal = await refusalOf(limiter, key);
  if (refusal) throw rateLimited(refusal.msBeforeNext, "Too many requests.");
}

/** Methods and bodies that the path does not take are refused by the head of the request, before any of it is read. */
function checkRequest(request: Request, response: Response): void {
  const { method, headers } = request;
  const { methods, isShared, kind } = rowOf(request);
  const allowed = [
    ...methods,
    ...(methods.includes("GET") ? ["HEAD"] : []),
    ...(isShared ? ["OPTIONS"] : []),
  ];
  if (!allowed.includes(method)) {
    response.setHeader("allow", allowed.join(", "));
    throw methodNotAllowed();
  }
  const length = Number(headers["content-length"] ?? 0);
  if (method !== "POST" && (length > 0 || headers["transfer-encoding"] !== undefined))
    throw badRequest("This path takes no body.");
  if (kind === "tracking" && length > HIT_BYTES_MAX)
    throw new Fault({
      code: Code.INVALID_ARGUMENT,
      reason: "BODY_TOO_LARGE",
      message: "The body is too long.",
    });
}

/** A picture is answered even where its hit is lost: the page that shows it is not to be broken. */
const IMAGE_PATH = "/mtracking.gif";

function refuse(request: Request, response: Response, error: unknown, log: Log): void {
  const { kind } = rowOf(request);
  const { reason } = toFault(error);
  publicRefusals.inc({ kind, reason: reason.toLowerCase() });
  sendError(response, error, {
    log,
    challenge: [],
    write: (entry) => writeRefusal(request, response, entry),
  });
}

function writeRefusal(request: Request, response: Response, { code, message }: ErrorEntry): void {
  const isForScripts = rowOf(request).isShared || request.accepts(["html", "json"]) === "json";
  if (request.path === IMAGE_PATH && code !== 405) {
    response.statusCode = 200;
    response.type("image/gif").end(BLANK_IMAGE);
  } else if (isForScripts) {
    // A script elsewhere could not even see that it is to wait.
    if (rowOf(request).isShared) response.setHeader("access-control-allow-origin", "*");
    response.type("application/json").end(JSON.stringify({ success: 0, errorMessage: message }));
  } else {
    const { title, text } = publicRefusal(code);
    response.setHeader("content-security-policy", PLAIN_POLICY);
    response.type("text/html").end(plainPage(title, text));
  }
}

const SESSION_COOKIE = /^\s*(?:__Host-sid|tidings-sid-\d+)=/;

function isOurs(cookie: string): boolean {
  return SESSION_COOKIE.test(cookie);
}

/** The cookies of a browser that belong to the public web itself. */
function foreignCookies(header = ""): string {
  return header
    .split(";")
    .filter((cookie) => !isOurs(cookie))
    .join(";")
    .trim();
}
