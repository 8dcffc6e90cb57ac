import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  STATUS_CODES,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { type Exchange, oneByOne } from "./one-by-one.ts";
import type { Tls } from "./tls.ts";

export interface HttpServer {
  port: number;
  /** Takes no new connections, waits for the requests in flight, then closes what is left. */
  drain(): Promise<void>;
}

const DRAIN_LIMIT_MS = 20_000;
const IDLE_CHECK_MS = 50;
const CONNECTIONS_MAX = 10_000;
/** Longer than any request may take: a connection on which nothing moves for so long is dead, or nobody reads it. */
const QUIET_MAX_MS = 40_000;
/** A body that takes longer to arrive is given up, unless it may take long. */
const ARRIVAL_MAX_MS = 60_000;
const LONG_ARRIVAL_MAX_MS = 30 * 60_000;

/** A member of the request, and no WeakMap beside it: that would keep each request until the old generation is collected (ADR 37). */
const ARRIVAL = Symbol("arrival");

type Arriving = IncomingMessage & { [ARRIVAL]?: NodeJS.Timeout };

export interface HttpServerOptions {
  port: number;
  /** The address of this machine it is reached by; all when absent. */
  host?: string;
  /** For a server that only our own processes call. */
  tls?: Tls | undefined;
  /** Will it soon take no more requests? Then each answer is the last one of its connection. Never when absent. */
  isLeaving?: () => boolean;
}

const LIMITS = {
  headersTimeout: 10_000,
  // Each request has its own: see `limitArrival`.
  requestTimeout: 0,
  // Longer than a load balancer keeps its side, so that it never writes into a connection we just closed.
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16 * 1024,
  noDelay: true,
};

/** Serves HTTP/1.1 with limits on everything a client could take its time with. */
export function serveHttp(
  { port, host, tls, isLeaving = () => false }: HttpServerOptions,
  listener: RequestListener,
): Promise<HttpServer> {
  const { listener: answer, current } = oneByOne((request, response) => {
    // A connection that is closed while it is idle may be closed under a request that is on its way.
    if (isLeaving()) response.setHeader("connection", "close");
    limitArrival(request);
    listener(request, response);
  });
  const server = tls ? secureServer(tls, answer) : createServer(LIMITS, answer);
  server.maxConnections = CONNECTIONS_MAX;
  server.setTimeout(QUIET_MAX_MS);
  // A client is asked to go on with a body after the request was looked at, not before.
  server.on("checkExpectation", answer);
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    const exchange = current(socket);
    if (!exchange) answerClientError(error, socket);
    else if (isUnreadable(error) && !exchange.response.headersSent) refuseBody(exchange);
    // A second answer would be taken for that of the next request.
    else socket.destroySoon();
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host }, () => {
      server.off("error", reject);
      resolve({ port: (server.address() as AddressInfo).port, drain: () => drain(server) });
    });
  });
}

/** A client without a certificate of ours is refused in the handshake. */
function secureServer(tls: Tls, listener: RequestListener): Server {
  const server = createTlsServer({ ...LIMITS, ...tls.files, requestCert: true }, listener);
  tls.onChange((files) => server.setSecureContext(files));
  return server;
}

/** A request whose body is a large file, from somebody who is known: it may arrive for half an hour. */
export function takesLong(request: IncomingMessage): void {
  giveUpAfter(request, LONG_ARRIVAL_MAX_MS);
}

/** A request whose body is short: its connection is closed when the body has not arrived by then. */
export function arrivesWithin(request: IncomingMessage, limitMs: number): void {
  giveUpAfter(request, limitMs);
}

function limitArrival(request: Arriving): void {
  const { headers } = request;
  if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) return;
  giveUpAfter(request, ARRIVAL_MAX_MS);
  request.once("close", () => clearTimeout(request[ARRIVAL]));
}

function giveUpAfter(request: Arriving, limitMs: number): void {
  clearTimeout(request[ARRIVAL]);
  if (request.destroyed) return;
  const giveUp = () => {
    if (!request.complete) request.socket.destroySoon();
  };
  request[ARRIVAL] = setTimeout(giveUp, limitMs).unref();
}

/** The body cannot be read as HTTP (a chunk without a length): its request is answered here, and by nobody else. */
function refuseBody({ request, response }: Exchange): void {
  response.writeHead(400, { connection: "close", "content-type": "application/json" });
  response.end(errorBody(400));
  // Destroying the request ends the reading of its body with an error.
  response.once("close", () => request.destroy());
}

/** A client that leaves in the middle of a body is no such error: its request is aborted by Node. */
function isUnreadable({ code = "" }: NodeJS.ErrnoException): boolean {
  return code.startsWith("HPE_") && code !== "HPE_INVALID_EOF_STATE";
}

function errorBody(status: number): string {
  const message = `${STATUS_CODES[status]}.`;
  return JSON.stringify({ errors: [{ code: status, message, details: [] }] });
}

/** A request that is not HTTP gets the error shape too, and its connection is closed. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const status =
    error.code === "HPE_HEADER_OVERFLOW" ? 431 : error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
  const body = errorBody(status);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** A connection is closed as soon as it has answered: kept alive it would hold the process until it times out. */
function drain(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const limit = setTimeout(() => server.closeAllConnections(), DRAIN_LIMIT_MS);
    const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
    server.close(() => {
      clearTimeout(limit);
      clearInterval(idle);
      resolve();
    });
    server.closeIdleConnections();
  });
}
