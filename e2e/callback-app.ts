import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Callback {
  parameters: URLSearchParams;
  referer: string | undefined;
}

export interface CallbackApp {
  origin: string;
  redirectUri: string;
  /** The callbacks that browsers have made so far. */
  callbacks: Callback[];
  stop(): Promise<void>;
}

/** An app on a site of its own: users come back to it, and `/frame?<address>` tries to show an address in a frame. */
export async function startCallbackApp(): Promise<CallbackApp> {
  const callbacks: Callback[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    response.setHeader("content-type", "text/html");
    if (url.pathname === "/frame") {
      response.end(
        `<iframe src="${decodeURIComponent(url.search.slice(1)).replaceAll("&", "&amp;")}"></iframe>`,
      );
      return;
    }
    if (url.pathname === "/callback")
      callbacks.push({ parameters: url.searchParams, referer: request.headers.referer });
    response.end("<h1>Back at the app</h1>");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    redirectUri: `${origin}/callback`,
    callbacks,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
