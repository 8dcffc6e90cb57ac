import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/**
 * Sends bytes as the body of an answer, a piece at a time. The client may leave in the middle. When the store fails, or has fewer bytes than the answer
 * says, the connection is closed, so that nobody waits for the rest or takes a part for the whole; throws then.
 */
export async function sendBytes(response: ServerResponse, bytes: Readable): Promise<void> {
  const length = Number(response.getHeader("content-length") ?? 0);
  try {
    await pipeline(bytes, (chunks: AsyncIterable<Buffer>) => whole(chunks, length), response);
  } catch (error) {
    response.destroy();
    if (!hasLeft(error)) throw error;
  }
}

async function* whole(chunks: AsyncIterable<Buffer>, length: number): AsyncGenerator<Buffer> {
  let sent = 0;
  for await (const chunk of chunks) {
    sent += chunk.length;
    yield chunk;
  }
  if (sent < length) throw new Error(`a stored file ended after ${sent} bytes of ${length}`);
}

/** The client closed the connection. */
function hasLeft(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ERR_STREAM_PREMATURE_CLOSE";
}
