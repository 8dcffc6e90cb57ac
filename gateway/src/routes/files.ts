import { FileService } from "@tidings/proto/tidings/content/v1/file";
import type { RpcClient } from "@tidings/rpc/client";
import { type Request, Router } from "express";
import { endpoint, needing, uploadEndpoint } from "../rest/endpoint.ts";
import { type ApiResponse, BUDGET_MS, outgoing, sendJson } from "../rest/exchange.ts";
import type { Transfer } from "../transfer.ts";

/** Older clients know a listing that begins with the directory itself and the one above it. */
const FIRST_KEY = 2;

/** Uploaded files, by directory. */
export function fileRoutes(files: RpcClient<typeof FileService>, transfer: Transfer): Router {
  const router = Router({ caseSensitive: true });

  const list = async (request: Request, response: ApiResponse) => {
    const { exchange } = response.locals;
    const { subdir } = exchange.query;
    const asked = { directory: directoryOf(request), subdirectory: typeof subdir === "string" ? subdir : "" };
    const { names } = await files.listFiles(asked, outgoing(exchange, BUDGET_MS.read));
    const byKey = Object.fromEntries(names.map((name, index) => [index + FIRST_KEY, name]));
    sendJson(response, 200, JSON.stringify({ files: names.length > 0 ? byKey : [] }));
  };

  const upload = async (request: Request, response: ApiResponse) => {
    const path = `files/${encodeURIComponent(directoryOf(request))}`;
    const file = await transfer.upload(request, response.locals.exchange, path);
    sendJson(response, 200, `{"file":${file}}`);
  };

  const remove = async (request: Request, response: ApiResponse) => {
    const named = { directory: directoryOf(request), name: String(request.params.file) };
    await files.deleteFile(named, outgoing(response.locals.exchange, BUDGET_MS.write));
    sendJson(response, 200, '{"success":true}');
  };

  endpoint(router, "/:directory", { GET: list });
  uploadEndpoint(router, "/:directory/new", upload);
  endpoint(router, "/:directory/:file/delete", { DELETE: needing(FileService.method.deleteFile, remove) });
  return router;
}

function directoryOf(request: Request): string {
  return String(request.params.directory);
}
