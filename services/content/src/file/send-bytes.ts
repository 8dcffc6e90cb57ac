import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** Sends bytes as the body of an answer, a piece at a time. The client may leave in the middle. */
export async function sendBytes(response: ServerResponse, bytes: Readable): Promise<void> {
  await pipeline(bytes, response).catch(() => response.destroy());
}
