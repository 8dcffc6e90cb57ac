import { type Agent, type ClientRequest, type IncomingMessage, request as open } from "node:http";
import { pipeline } from "node:stream/promises";
import { type ActorSigner, actorSigner } from "@tidings/rpc/actor";
import { badRequest, type Fault, unavailable } from "@tidings/rpc/fault";
import type { IdempotencyKey } from "@tidings/rpc/idempotency";
import {
  ACTOR_HEADER,
  faultOfBytes,
  KEY_HEADERS,
  REPLAYED_HEADER,
  REQUEST_ID_HEADER,
  TRANSFER_PATH,
} from "@tidings/rpc/transfer";
import type { Tls } from "@tidings/runtime/tls";
import type { ApiResponse, Exchange } from "./rest/exchange.ts";
import { watchUpload } from "./rest/upload.ts";
import { wayToContent } from "./way-to-content.ts";

/** Bytes to and from the content service, in the name of who asks, as they come: none of them is held here. */
export interface Transfer {
  /** Passes the body of a request on, as it is. Answers the JSON that comes back. */
  upload(request: IncomingMessage, exchange: Exchange, path: string): Promise<string>;
  /** Streams what is at `path` to the caller, as a file of that name, or under the name that the content service gives it. */
  download(response: ApiResponse, path: string, filename?: string): Promise<void>;
  close(): void;
}

const ANSWER_TIMEOUT_MS = 30_000;
const ANSWER_BYTES_MAX = 64 * 1024;
/** A request that closes with its answer, or whose rest nobody reads, leaves its connection unusable. */
const CONNECTIONS_MAX = 256;

/** `address` is `host:port` of the content service's public side. */
export function openTransfer({
  address,
  tls,
  actorPrivateKey,
}: {
  address: string;
  tls?: Tls | undefined;
  actorPrivateKey: string;
}): Transfer {
  const { origin, agent } = wayToContent(address, tls, { keepAlive: true, maxSockets: CONNECTIONS_MAX });
  const sign = actorSigner(actorPrivateKey, "content");
  const urlOf = (path: string) => new URL(TRANSFER_PATH + path, origin);
  return {
    upload: (request, exchange, path) => {
      const { idempotencyKey: key } = exchange;
      const headers = { ...nameOf(sign, exchange), ...(key && keyHeaders(key)) };
      const onReplay = () => {
        exchange.isReplayed = true;
      };
      return send(request, { url: urlOf(path), agent, headers, onReplay });
    },
    async download(response, path, filename) {
      const { exchange } = response.locals;
      const answer = await fetched({ url: urlOf(path), agent, headers: nameOf(sign, exchange) });
      if (answer.statusCode !== 200) throw await faultOf(answer);
      response.setHeader("Content-Type", String(answer.headers["content-type"]));
      const given = String(answer.headers["content-disposition"] ?? "attachment");
      response.setHeader(
        "Content-Disposition",
        filename === undefined ? given : `attachment; filename="${filename}"`,
      );
      // The client may leave in the middle; half an answer must not look like a whole one.
      await pipeline(answer, response).catch(() => response.destroy());
    },
    close: () => agent.destroy(),
  };
}

interface Target {
  url: URL;
  agent: Agent;
  headers: Record<string, string>;
  onReplay?: (() => void) | undefined;
}

function keyHeaders({ secret, fingerprint }: IdempotencyKey): Record<string, string> {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");
  return { [KEY_HEADERS.secret]: text(secret), [KEY_HEADERS.fingerprint]: text(fingerprint) };
}

function nameOf(sign: ActorSigner, { actor, requestId }: Exchange): Record<string, string> {
  return { [ACTOR_HEADER]: sign(actor), [REQUEST_ID_HEADER]: requestId };
}

/** Streams a body to the content service. The answer may come before the whole body: then the rest is not sent. */
async function send(request: IncomingMessage, { url, agent, headers, onReplay }: Target): Promise<string> {
  const { promise: answered, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  let outgoing: ClientRequest | undefined;
  const giveUp = (fault: Fault) => {
    outgoing?.destroy();
    reject(fault);
  };
  // First, since it throws at the limits: a refused upload opens no connection.
  const watch = watchUpload(request, giveUp);
  try {
    outgoing = open(url, { method: "POST", agent, headers: { ...headers, ...bodyHeaders(request) } });
    outgoing.once("response", resolve);
    // Stays until the socket is gone: an error without a listener ends the process.
    outgoing.on("error", (error) => reject(unavailable(error)));
    request.once("close", () => {
      if (!request.complete) giveUp(badRequest("The body ended early."));
    });
    request.once("end", () =>
      outgoing?.setTimeout(ANSWER_TIMEOUT_MS, () => giveUp(unavailable("no answer"))),
    );
    request.pipe(outgoing);
    const answer = await answered;
    if (answer.statusCode !== 200) throw await faultOf(answer);
    if (answer.headers[REPLAYED_HEADER] !== undefined) onReplay?.();
    return (await bodyOf(answer)).toString();
  } finally {
    watch.end();
    if (outgoing) request.unpipe(outgoing);
    if (!request.complete) outgoing?.destroy();
  }
}

function bodyHeaders({ headers }: IncomingMessage): Record<string, string> {
  const { "content-type": type, "content-length": length } = headers;
  return { ...(type && { "content-type": type }), ...(length && { "content-length": length }) };
}

function fetched({ url, agent, headers }: Target): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = open(url, { agent, headers, timeout: ANSWER_TIMEOUT_MS }, resolve);
    outgoing.once("timeout", () => outgoing.destroy(new Error("no answer")));
    outgoing.on("error", (error) => reject(unavailable(error)));
    outgoing.end();
  });
}

/** The fault for an answer of the content service: an unexpected one means that the service is not well. */
async function faultOf(answer: IncomingMessage): Promise<Fault> {
  const bytes = await bodyOf(answer);
  if (answer.headers["content-type"] === "application/x-protobuf") return faultOfBytes(bytes);
  return unavailable(new Error(`status ${answer.statusCode}`));
}

async function bodyOf(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer) {
    length += (chunk as Buffer).length;
    if (length > ANSWER_BYTES_MAX) throw new Error("the answer to a transfer is too long");
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}
