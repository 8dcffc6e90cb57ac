import { request as open } from "node:http";

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  json: Record<string, unknown>;
}

export interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

export const BROWSER =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";

/** A browser as a test needs it: it keeps cookies, follows nothing, and may ask a gateway for another host than that of its address. */
export function visitor(baseUrl: string, { host, agent = BROWSER }: { host?: string; agent?: string } = {}) {
  const cookies = new Map<string, string>();
  const { hostname, port } = new URL(baseUrl);
  const ask = (path: string, { method = "GET", headers = {}, body }: Sent = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const own = { "user-agent": agent, ...(host && { host }), ...(cookie && { cookie }), ...headers };
      const outgoing = open({ hostname, port, path, method, headers: own }, (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk) => chunks.push(chunk));
        incoming.once("end", () => {
          for (const set of incoming.headers["set-cookie"] ?? []) keep(set);
          const text = Buffer.concat(chunks).toString();
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            text,
            get json() {
              return JSON.parse(text);
            },
          });
        });
        incoming.once("error", reject);
      });
      outgoing.once("error", reject);
      outgoing.end(body);
    });
  const keep = (set: string) => {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
    if (value === "") cookies.delete(name);
    else cookies.set(name, value);
  };
  return {
    ask,
    cookies,
    /** A hit as the script on a page sends it. */
    hit: (members: Record<string, string>, headers: Record<string, string> = {}) =>
      ask("/mtc/event", {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
        body: new URLSearchParams(members).toString(),
      }),
  };
}
