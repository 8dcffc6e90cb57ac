import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

export interface StandIn {
  url: string;
  /** Method and path of every request, in order. */
  requests: string[];
  stop(): Promise<void>;
}

export interface Behaviour {
  /** The status of the answer to lists of contacts; 200 when absent. */
  listStatus?: number;
  /** How late lists of contacts are answered; not at all when absent. */
  listDelayMs?: number;
}

const CREDENTIAL = '<code class="block">7_client</code><code class="block">secret</code>';
const TOKEN = JSON.stringify({ access_token: "token", expires_in: 3_600, token_type: "bearer" });
const CONTACTS = JSON.stringify({ contacts: Array.from({ length: 200 }, (_, index) => ({ id: index + 1 })) });

/** Answers what the journey contact-lists asks as the product does, or worse, when a test asks for it. */
export async function startStandIn({ listStatus = 200, listDelayMs = 0 }: Behaviour): Promise<StandIn> {
  const requests: string[] = [];
  const answers: Record<string, [status: number, body: string]> = {
    "GET /oauth/v2/authorize_login": [303, ""], // signed in already
    "POST /credentials/new": [200, CREDENTIAL],
    "POST /credentials/7/delete": [303, ""],
    "POST /oauth/v2/token": [200, TOKEN],
    "POST /api/contacts/batch/new": [201, CONTACTS],
    "GET /api/contacts": [listStatus, "{}"],
  };
  const server = createServer(async (request, response) => {
    const key = `${request.method} ${request.url?.split("?")[0]}`;
    requests.push(key);
    request.resume();
    const [status, body] = answers[key] ?? [200, "{}"];
    if (key === "GET /api/contacts") await pause(listDelayMs);
    response.writeHead(status, { "content-type": body.startsWith("<") ? "text/html" : "application/json" });
    response.end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
