import { createHash } from "node:crypto";
import type { Response } from "express";

/** Answers a script that pages of every site may include; 304 where the browser has it. */
export function sendScript(response: Response, text: string, maxAgeSeconds: number): void {
  response.setHeader("etag", `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`);
  response.setHeader("cache-control", `public, max-age=${maxAgeSeconds}`);
  response.setHeader("cross-origin-resource-policy", "cross-origin");
  // Express answers 304 where the tag is the browser's, also as a proxy that compresses weakens it.
  response.type("application/javascript; charset=utf-8").send(text);
}
