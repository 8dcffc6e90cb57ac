import { createHash } from "node:crypto";
import { Router } from "express";
import { browserScript } from "../browser-folder.ts";
import type { VisitSettings } from "./visit-settings.ts";

/** `/mtc.js`: the script that reports page views. It is the same for each visitor, and asking for it is no visit. */
export function scriptRoutes(settings: VisitSettings): Router {
  const router = Router({ caseSensitive: true });
  const readScript = trackingScript(settings);
  router.get("/mtc.js", async (_request, response) => {
    const { text, tag } = await readScript();
    response.setHeader("etag", tag);
    response.setHeader("cache-control", "public, max-age=300");
    response.setHeader("cross-origin-resource-policy", "cross-origin");
    // Express answers 304 where the tag is the browser's, also as a proxy that compresses weakens it.
    response.type("application/javascript; charset=utf-8").send(text);
  });
  return router;
}

/** The script with the settings of this installation and its tag, made once. */
function trackingScript({ publicUrl, prefix, consent }: VisitSettings) {
  const readBundle = browserScript("mtc.js");
  const settings = JSON.stringify({ url: new URL(publicUrl).origin, prefix, consent });
  let made: Promise<{ text: string; tag: string }> | undefined;
  const make = async () => {
    const text = `((SETTINGS)=>{${await readBundle()}})(${settings});\n`;
    const digest = createHash("sha256").update(text).digest("base64url").slice(0, 22);
    return { text, tag: `"${digest}"` };
  };
  return () => {
    made ??= make();
    return made;
  };
}
