import { once } from "node:events";
import { connect } from "node:net";
import { AUTHORIZATION } from "./scene.ts";

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  body: Record<string, unknown>;
}

export interface Sent {
  body?: unknown;
  headers?: Record<string, string>;
  anonymous?: boolean;
}

/** A client of the API of a gateway on this machine. */
export function clientOf(port: number) {
  return async (
    method: string,
    path: string,
    { body, headers = {}, anonymous = false }: Sent = {},
  ): Promise<Answer> => {
    const isText = typeof body === "string";
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: {
        ...(!anonymous && { authorization: AUTHORIZATION }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: text ? JSON.parse(text) : {} };
  };
}

/** Writes bytes as they are and reads until the server closes, or has been quiet for a second. */
export async function exchangeRaw(
  port: number,
  request: string,
): Promise<{ text: string; isClosed: boolean }> {
  const socket = connect(port, "127.0.0.1").setEncoding("utf8").setTimeout(1_000);
  let text = "";
  let isClosed = true;
  socket.on("data", (chunk) => {
    text += chunk;
  });
  socket.on("timeout", () => {
    isClosed = false;
    socket.destroy();
  });
  socket.on("error", () => undefined); // a reset is a close too
  socket.write(request);
  await once(socket, "close");
  return { text, isClosed };
}
