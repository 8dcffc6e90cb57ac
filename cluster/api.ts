import { Agent, type RequestOptions, request } from "node:http";
import { text } from "node:stream/consumers";

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what is in it depends on the request, and a wrong guess fails the run.
  body: any;
}

/** Sends a request to a path below `/api/`, once: nothing is tried again. Throws when there is no answer. */
export type Api = (method: string, path: string, body?: object) => Promise<Answer>;

const ANSWER_LIMIT_MS = 30_000;

export interface ApiOptions {
  login: { username: string; password: string };
  /** One connection for all requests, as a proxy has it, or a new one for each. */
  keepAlive: boolean;
}

export function createApi(baseUrl: string, { login, keepAlive }: ApiOptions): Api {
  const agent = new Agent({ keepAlive, maxSockets: 1 });
  const credentials = Buffer.from(`${login.username}:${login.password}`).toString("base64");
  return async (method, path, body) => {
    const content = body && JSON.stringify(body);
    const headers: Record<string, string> = { authorization: `Basic ${credentials}` };
    if (content) {
      headers["content-type"] = "application/json";
      headers["content-length"] = String(Buffer.byteLength(content));
    }
    return send(`${baseUrl}/api/${path}`, { method, headers, agent, timeout: ANSWER_LIMIT_MS }, content);
  };
}

function send(url: string, options: RequestOptions, content: string | undefined): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(url, options, (response) => {
      text(response).then(
        (body) => resolve({ status: response.statusCode ?? 0, body: parsed(body) }),
        reject,
      );
    });
    asked.once("timeout", () => asked.destroy(new Error(`no answer within ${ANSWER_LIMIT_MS} ms`)));
    asked.once("error", reject);
    asked.end(content);
  });
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body; // not of the product
  }
}
