import { Agent, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { assertDescribed } from "./openapi/described.ts";

export interface RawRequest {
  method: string;
  /** Sent as it is: nothing is encoded or normalised. */
  path: string;
  headers?: Record<string, string>;
  body?: Buffer | string | undefined;
}

export interface RawAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** A server that has not answered by then hangs. */
const HANG_MS = 5_000;

const agent = new Agent({ keepAlive: true });

export function headersOf({ headers }: IncomingMessage): Headers {
  return new Headers(Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]));
}

/** Sends a request exactly as it is written. */
export function sendRaw(
  baseUrl: string,
  { method, path, headers = {}, body = "" }: RawRequest,
): Promise<RawAnswer> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const length = { "content-length": Buffer.byteLength(body) };
    const outgoing = request({ hostname, port, method, path, agent, headers: { ...length, ...headers } });
    const hangs = setTimeout(() => outgoing.destroy(new Error(`${method} ${path} hangs`)), HANG_MS);
    outgoing.once("close", () => clearTimeout(hangs));
    let isAnswered = false;
    outgoing.once("response", (incoming) => {
      isAnswered = true;
      buffer(incoming)
        .then((bytes) => {
          const text = bytes.toString();
          const status = incoming.statusCode ?? 0;
          const headers = headersOf(incoming);
          assertDescribed({ method, path, status, headers, text, hasMadeUpQuery: true });
          resolve({ status, headers: incoming.headers, text });
        })
        .catch(reject);
    });
    // A server that refuses a body need not read it to its end.
    outgoing.on("error", (error) => !isAnswered && reject(error));
    outgoing.end(body);
  });
}

/** Writes bytes to a connection and answers all that comes back until the server closes it. */
export function exchange(baseUrl: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  return new Promise((resolve, reject) => {
    const hangs = setTimeout(() => {
      socket.destroy();
      reject(new Error(`The connection is still open after ${Buffer.concat(chunks)}`));
    }, HANG_MS);
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", () => undefined); // a reset ends the exchange like an end does
    socket.on("close", () => {
      clearTimeout(hangs);
      resolve(Buffer.concat(chunks).toString());
    });
    socket.write(Buffer.from(bytes, "latin1"));
  });
}
