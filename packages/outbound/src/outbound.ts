import { lookup, Resolver } from "node:dns/promises";
import { setTimeout as pause } from "node:timers/promises";
import { Agent, buildConnector, type Dispatcher } from "undici";
import { isAllowedAddress, literalAddress, type Range, receiverUrl } from "./address.ts";

export type OutboundErrorCode = "blocked_address" | "timeout" | "tls_error" | "delivery_failed";

/** Why there was no answer, in the words a user may see. */
export class OutboundError extends Error {
  override name = "OutboundError";
  readonly code: OutboundErrorCode;

  constructor(code: OutboundErrorCode, cause?: unknown) {
    super(code, { cause });
    this.code = code;
  }
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** The beginning of the body. */
  text: string;
}

export interface Outbound {
  /** Posts and answers whatever the receiver answers, redirects included. Throws OutboundError otherwise. */
  post(url: string, headers: Record<string, string>, body: string): Promise<Answer>;
  /** Asks for the headers alone, likewise. */
  head(url: string): Promise<Answer>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;
const DNS_TIMEOUT_MS = 2_000;
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
  const ask = async (
    text: string,
    request: Pick<Dispatcher.RequestOptions, "method" | "headers" | "body">,
  ): Promise<Answer> => {
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
    post: (url, headers, body) => ask(url, { method: "POST", headers, body }),
    head: (url) => ask(url, { method: "HEAD" }),
    close: () => agent.destroy(),
  };
}

function guardedConnector(allowed: Range[]): buildConnector.connector {
  const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS, allowH2: false });
  return (options, callback) => {
    const literal = literalAddress(options.hostname);
    // A literal needs no server name, and TLS has none for it.
    const servername = literal ? undefined : options.hostname;
    resolveAllowed(options.hostname, allowed).then(
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

/** The address to connect to. One address of a name that is not allowed is enough to refuse the name. */
async function resolveAllowed(hostname: string, allowed: Range[]): Promise<string> {
  const literal = literalAddress(hostname);
  const addresses = literal ? [literal] : await resolve(hostname);
  const [first] = addresses;
  if (!first) throw new OutboundError("delivery_failed");
  if (addresses.every((address) => isAllowedAddress(address, allowed))) return first;
  throw new OutboundError("blocked_address");
}

/**
 * Asks DNS itself, with a limit, instead of the system's resolver: that blocks one of four threads for as long as a slow
 * name server takes, and so delays every other receiver. Only names that DNS does not know go there (hosts files).
 */
async function resolve(hostname: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS / 2, tries: 2 });
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (addresses.length > 0) return addresses;
  const isSlow = answers.some((answer) => answer.status === "rejected" && answer.reason.code === "ETIMEOUT");
  if (isSlow) throw new OutboundError("timeout");
  const limit = new AbortController();
  const late = pause(DNS_TIMEOUT_MS, [], { signal: limit.signal });
  const found = await Promise.race([lookup(hostname, { all: true }), late]).finally(() => limit.abort());
  return found.map(({ address }: { address: string }) => address);
}

/** What is beyond the limit is not read; a receiver that breaks off after its status line has answered all the same. */
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
