import { Readable } from "node:stream";
import { Agent, buildConnector, type Dispatcher } from "undici";
import { isAllowedAddress, literalAddress, type Range, receiverUrl } from "./address.ts";
import { allowedAddressOf, OutboundError, type OutboundErrorCode } from "./guard.ts";

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** The beginning of the body. */
  text: string;
}

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface OutboundRequest {
  method: Method;
  url: string;
  headers?: Record<string, string>;
  body?: string;
}

/** The outcome of a request whose effect may not be repeated. Only after `answered` and `unknown` may the receiver have it. */
export type SentOnce =
  | { state: "answered"; answer: Answer }
  /** `mayBegin` said no. */
  | { state: "not begun" }
  /** Nothing left: the receiver could not be reached. */
  | { state: "unreached"; code: OutboundErrorCode }
  | { state: "unknown"; code: OutboundErrorCode };

export interface Outbound {
  /** Sends a request and answers whatever the receiver answers, redirects included. Throws OutboundError otherwise. */
  send(request: OutboundRequest): Promise<Answer>;
  /** Sends a request with a body on a connection of its own. `mayBegin` is asked right before the first octet leaves. */
  sendOnce(request: OutboundRequest & { body: string }, mayBegin: () => boolean): Promise<SentOnce>;
  close(): Promise<void>;
}

type AgentRequest = Omit<OutboundRequest, "body"> & { body?: string | Readable; reset?: boolean };

const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 2_000;
const ANSWER_MAX_BYTES = 16_384;

/**
 * The only way out of this process. It connects to public addresses and to the ranges in `allowed`, and to nothing
 * else: names are resolved here, all their addresses have to pass, and the connection is made to the address that
 * passed. No redirects, no proxies, TLS is verified, answers are cut off.
 */
export function createOutbound({ allowed, timeoutMs }: { allowed: Range[]; timeoutMs: number }): Outbound {
  const agent = new Agent({
    connect: guardedConnector(allowed),
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    allowH2: false,
  });
  const request = async ({ url: text, ...options }: AgentRequest): Promise<Answer> => {
    const url = receiverUrl(text);
    if (!url) throw new OutboundError("delivery_failed");
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const { origin, pathname, search } = url;
      const answer = await agent.request({ origin, path: pathname + search, signal, ...options });
      const { statusCode: status, headers } = answer;
      return { status, headers, text: await beginningOf(answer.body) };
    } catch (error) {
      throw outboundError(error);
    }
  };
  return {
    send: request,
    async sendOnce({ body, headers, ...sent }, mayBegin) {
      const { stream, progress } = heldBody(body, mayBegin);
      const length = { "content-length": String(Buffer.byteLength(body)) };
      try {
        const own = { headers: { ...headers, ...length }, body: stream, reset: true };
        return { state: "answered", answer: await request({ ...sent, ...own }) };
      } catch (error) {
        const { code } = outboundError(error);
        if (progress.isHeldBack) return { state: "not begun" };
        return { state: progress.isBegun ? "unknown" : "unreached", code };
      } finally {
        stream.destroy();
      }
    },
    close: () => agent.destroy(),
  };
}

/** A body that is read once its connection stands, before the head of the request is written. */
function heldBody(body: string, mayBegin: () => boolean) {
  const progress = { isBegun: false, isHeldBack: false };
  const stream = new Readable({
    read() {
      progress.isHeldBack = !mayBegin();
      if (progress.isHeldBack) return void this.destroy(new Error("the request may not begin"));
      progress.isBegun = true;
      this.push(body);
      this.push(null);
    },
  });
  return { stream, progress };
}

function guardedConnector(allowed: Range[]): buildConnector.connector {
  const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS, allowH2: false });
  return (options, callback) => {
    const literal = literalAddress(options.hostname);
    // A literal needs no server name, and TLS has none for it.
    const servername = literal ? undefined : options.hostname;
    allowedAddressOf(options.hostname, allowed).then(
      (address) =>
        connect({ ...options, hostname: address, ...(servername && { servername }) }, (error, socket) => {
          if (error) return callback(error, null);
          if (isAllowedAddress(socket.remoteAddress ?? "", allowed)) return callback(null, socket);
          socket.destroy();
          callback(new OutboundError("blocked_address"), null);
        }),
      (error) => callback(error, null),
    );
  };
}

/** Reads no more than the limit. A receiver that closes after its status line has answered all the same. */
async function beginningOf(body: Dispatcher.ResponseData["body"]): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= ANSWER_MAX_BYTES) break;
    }
  } catch {
    body.destroy();
  }
  return Buffer.concat(chunks).subarray(0, ANSWER_MAX_BYTES).toString("utf8");
}

const TIMEOUTS = new Set(["UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "ETIMEDOUT"]);

function outboundError(error: unknown): OutboundError {
  if (error instanceof OutboundError) return error;
  if (!(error instanceof Error)) return new OutboundError("delivery_failed", error);
  const code = "code" in error ? String(error.code) : "";
  if (error.name === "TimeoutError" || TIMEOUTS.has(code)) return new OutboundError("timeout", error);
  if (/CERT|TLS|SSL|EPROTO|SIGNATURE/.test(code)) return new OutboundError("tls_error", error);
  return new OutboundError("delivery_failed", error);
}
