import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A site of somebody else: its pages by their paths. */
export async function startPageServer(
  pages: ReadonlyMap<string, string>,
): Promise<{ origin: string; stop(): void }> {
  const server = createServer((request, response) => {
    const page = pages.get(new URL(request.url ?? "/", "http://site.example").pathname);
    response.writeHead(page === undefined ? 404 : 200, { "content-type": "text/html; charset=utf-8" });
    response.end(page ?? "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
