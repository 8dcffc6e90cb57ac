import type { IncomingMessage } from "node:http";

/** The beginning of a body, and whether there is more of it than was read. */
export interface ReadBody {
  text: string;
  isCut: boolean;
}

/**
 * Reads the body of a request as text, at most `bytesMax` of it. The rest is dropped as it arrives: left unread it would hold up all later
 * requests of its connection.
 */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<ReadBody> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
    if (length > bytesMax) break;
  }
  request.resume();
  const bytes = Buffer.concat(chunks);
  return { text: bytes.subarray(0, bytesMax).toString(), isCut: bytes.length > bytesMax };
}
