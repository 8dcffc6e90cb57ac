import { Router } from "express";
import { browserScript } from "../browser-folder.ts";
import { sendScript } from "../web/send-script.ts";
import type { VisitSettings } from "./visit-settings.ts";

const MAX_AGE_SECONDS = 300;

/** `/mtc.js`: the script that reports page views. It is the same for each visitor, and asking for it is no visit. */
export function scriptRoutes(settings: VisitSettings): Router {
  const router = Router({ caseSensitive: true });
  const readBundle = browserScript("mtc.js");
  router.get("/mtc.js", async (_request, response) => {
    const text = `((SETTINGS)=>{${await readBundle()}})(${browserSettings(settings)});\n`;
    sendScript(response, text, MAX_AGE_SECONDS);
  });
  return router;
}

/** The settings of this installation for scripts in browsers, as JavaScript. */
export function browserSettings({ publicUrl, prefix, consent }: VisitSettings): string {
  return JSON.stringify({ url: new URL(publicUrl).origin, prefix, consent });
}
