import { type Theme, ThemeService } from "@tidings/proto/tidings/content/v1/theme";
import type { RpcClient } from "@tidings/rpc/client";
import { type Request, Router } from "express";
import { endpoint, needing, uploadEndpoint } from "../rest/endpoint.ts";
import { type ApiResponse, BUDGET_MS, outgoing, sendJson } from "../rest/exchange.ts";
import type { Transfer } from "../transfer.ts";

/** Themes of pages, emails and forms. */
export function themeRoutes(themes: RpcClient<typeof ThemeService>, transfer: Transfer): Router {
  const router = Router({ caseSensitive: true });

  const list = async (_request: Request, response: ApiResponse) => {
    const listed = await themes.listThemes({}, outgoing(response.locals.exchange, BUDGET_MS.read));
    const byKey = Object.fromEntries(listed.themes.map((theme) => [theme.key, shown(theme)]));
    sendJson(response, 200, JSON.stringify({ themes: byKey }));
  };

  const download = async (request: Request, response: ApiResponse) => {
    const key = encodeURIComponent(String(request.params.theme));
    await transfer.download(response, `themes/${key}`, `${key}.zip`);
  };

  const upload = async (request: Request, response: ApiResponse) => {
    await transfer.upload(request, response.locals.exchange, "themes");
    sendJson(response, 200, '{"success":true}');
  };

  const remove = async (request: Request, response: ApiResponse) => {
    const key = String(request.params.theme);
    await themes.deleteTheme({ key }, outgoing(response.locals.exchange, BUDGET_MS.write));
    sendJson(response, 200, '{"success":true}');
  };

  endpoint(router, "/", { GET: list });
  uploadEndpoint(router, "/new", upload);
  endpoint(router, "/:theme", { GET: download });
  endpoint(router, "/:theme/delete", { DELETE: needing(ThemeService.method.deleteTheme, remove) });
  return router;
}

function shown({ key, name, author, authorUrl, features }: Theme) {
  return { name, key, config: { name, author: author ?? null, authorUrl: authorUrl ?? null, features } };
}
