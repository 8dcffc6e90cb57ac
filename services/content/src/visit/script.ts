import { createHash } from "node:crypto";
import { type Request, type Response, Router } from "express";
import { browserScript } from "../browser-folder.ts";
import type { VisitSettings } from "./visit-settings.ts";

/** `/mtc.js`: the script that pages are tracked by. It is the same for everybody, and no visit of anybody. */
export function scriptRoutes({ publicUrl, prefix, consent }: VisitSettings): Router {
  const router = Router({ caseSensitive: true });
  const readScript = browserScript("mtc.js");
  const settings = JSON.stringify({ url: new URL(publicUrl).origin, prefix, consent }).replaceAll(
    "<",
    "\\u003c",
  );
  router.get("/mtc.js", async (request: Request, response: Response) => {
    const text = `((SETTINGS)=>{${await readScript()}})(${settings});\n`;
    const tag = `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
    response.setHeader("etag", tag);
    response.setHeader("cache-control", "public, max-age=300");
    response.setHeader("cross-origin-resource-policy", "cross-origin");
    if (request.get("if-none-match") === tag) return void response.status(304).end();
    response.type("text/javascript").send(text);
  });
  return router;
}
