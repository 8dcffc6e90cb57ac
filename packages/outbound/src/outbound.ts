import { Agent, buildConnector, type Dispatcher } from "undici";
import { isAllowedAddress, literalAddress, type Range, receiverUrl } from "./address.ts";
import { allowedAddressOf, CONNECT_TIMEOUT_MS, OutboundError } from "./guard.ts";

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

export interface Outbound {
  /** Sends a request and answers whatever the receiver answers, redirects included. Throws OutboundError otherwise. */
  send(request: OutboundRequest): Promise<Answer>;
  close(): Promise<void>;
}

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
  const send = async ({ url: text, ...request }: OutboundRequest): Promise<Answer> => {
    const url = receiverUrl(text);
    if (!url) throw new OutboundError("delivery_failed");
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const { origin, pathname, search } = url;
      const answer = await agent.request({ origin, path: pathname + search, signal, ...request });
      const { statusCode: status, headers } = answer;
      return { status, headers, text: await beginningOf(answer.body) };
    } catch (error) {
      throw outboundError(error);
    }
  };
  return {
    send,
    close: () => agent.destroy(),
  };
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
