import type { ServerResponse } from "node:http";
import { badRequest } from "@tidings/rpc/fault";
import { ACTOR_HEADER } from "@tidings/rpc/transfer";
import type { Tls } from "@tidings/runtime/tls";
import type { Request, RequestHandler, Response } from "express";
import { createProxyMiddleware } from "http-proxy-middleware";
import { addressKey } from "./limits/address-key.ts";
import { consume } from "./limits/rate-limit.ts";
import { OPEN_MAX, type WebLimits } from "./limits/web-limits.ts";
import { methodNotAllowed } from "./rest/error.ts";
import { wayToContent } from "./way-to-content.ts";

/** The public web: what the content service shows to everybody. */
export interface WebOptions {
  /** `host:port` of the content service's public side. */
  address: string;
  /** The certificate that both ends show to each other; no TLS when absent. */
  tls?: Tls | undefined;
  /** The host that is all the public web's; without one it has the paths below on the API's host. */
  host: string | undefined;
  limits: WebLimits;
}

/** THE table of public paths on the API's host: exact, or everything below where it ends in a slash. */
const PATHS = ["/robots.txt", "/media/"];
const START = "/";

const ANSWER_TIMEOUT_MS = 30_000;
/** One for each open request: readers that are slow keep theirs, and the others need not wait for them. */
const CONNECTIONS = { keepAlive: true, maxSockets: OPEN_MAX, maxFreeSockets: 64 };

/** Is this request for the public web? */
export function isPublic({ host }: WebOptions, request: Request): boolean {
  if (host !== undefined) return request.headers.host?.toLowerCase() === host;
  const { path } = request;
  return (
    path === START || PATHS.some((known) => path === known || (known.endsWith("/") && path.startsWith(known)))
  );
}

/**
 * Passes a request on to the content service and its answer back, both as they come. Nothing of the API goes along: neither
 * credentials nor its cookies, and no answer allows other sites to read it or sets a cookie of the API. A service that is
 * away is reported by a plain page.
 */
export function webProxy({ address, tls, limits }: WebOptions): RequestHandler {
  const { origin, agent } = wayToContent(address, tls, CONNECTIONS);
  const pass = createProxyMiddleware<Request, Response>({
    target: origin,
    agent,
    proxyTimeout: ANSWER_TIMEOUT_MS,
    xfwd: false,
    on: {
      proxyReq(outgoing, request, response) {
        outgoing.removeHeader("authorization");
        outgoing.removeHeader("proxy-authorization");
        // Visitors have no actor.
        outgoing.removeHeader(ACTOR_HEADER);
        const cookies = foreignCookies(request.headers.cookie);
        if (cookies === "") outgoing.removeHeader("cookie");
        else outgoing.setHeader("cookie", cookies);
        for (const name of outgoing.getHeaderNames())
          if (name.startsWith("x-forwarded-") || name === "forwarded") outgoing.removeHeader(name);
        outgoing.setHeader("x-forwarded-for", limits.clientIp(request));
        outgoing.setHeader("x-forwarded-host", request.headers.host ?? "");
        outgoing.setHeader("x-request-id", String(response.getHeader("x-request-id")));
      },
      proxyRes({ headers }, _request, response) {
        // An answer on its way is no work.
        response.locals.leave?.();
        for (const name of Object.keys(headers)) if (name.startsWith("access-control-")) delete headers[name];
        const cookies = headers["set-cookie"]?.filter((cookie) => !isOurs(cookie));
        if (cookies) headers["set-cookie"] = cookies;
      },
      error: (_error, _request, response) => sendAway(response as ServerResponse),
    },
  });
  return async (request, response, next) => {
    response.locals.route = "public web";
    checkMethod(request, response);
    await admit(request, response, limits);
    void pass(request, response, next);
  };
}

/** Counts a request in, or throws RATE_LIMITED or EXHAUSTED. */
async function admit(request: Request, response: Response, limits: WebLimits): Promise<void> {
  const { open, shedding } = limits;
  const address = addressKey(limits.clientIp(request));
  try {
    if (limits.rate) await consume(limits.rate, address, response);
    open.begin(address);
  } catch (refusal) {
    // Closing also drops the requests that are pipelined behind this one.
    response.setHeader("connection", "close");
    throw refusal;
  }
  response.once("close", () => open.end(address));
  shedding.admit(true);
  let isOver = false;
  response.locals.leave = () => {
    if (!isOver) shedding.leave();
    isOver = true;
  };
  response.once("close", response.locals.leave);
}

/** No public path takes a body yet: one is refused by its head, before any of it is read. */
function checkMethod({ method, headers }: Request, response: Response): void {
  if (method !== "GET" && method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    throw methodNotAllowed();
  }
  if (Number(headers["content-length"] ?? 0) > 0 || headers["transfer-encoding"] !== undefined)
    throw badRequest("This path takes no body.");
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

const AWAY = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Not available</title>
<h1>Not available at the moment</h1><p>Please try again in a moment.</p></html>
`;

function sendAway(response: ServerResponse): void {
  // An answer that has begun cannot become another one.
  if (response.headersSent) return void response.destroy();
  response.writeHead(503, { "content-type": "text/html; charset=utf-8", "retry-after": "1" });
  response.end(AWAY);
}
