import { pipeline } from "node:stream/promises";
import { backgroundDeadline, type Database } from "@tidings/database/database";
import { type RequestHandler, Router } from "express";
import { findImage } from "./files.ts";
import type { FileStore } from "./store.ts";
import { isStoredName } from "./stored-name.ts";

/** A name is given once: what it stands for never changes. It may go, though. */
const CACHING = "public, max-age=86400";

/** Uploaded images for everybody: `/media/images/<directories>/<name>`. */
export function imageRoutes(database: Database, store: FileStore): Router {
  const router = Router({ caseSensitive: true });
  const show: RequestHandler = async (request, response, next) => {
    const segments = request.path.split("/").slice(1);
    const name = segments.pop() ?? "";
    if (request.path.length > 400 || !isStoredName(name)) return next();
    const directory = ["images", ...segments].join("/");
    const [row] = await database.query(findImage, [directory, name], backgroundDeadline());
    const bytes = row && (await store.open(name));
    if (!row || !bytes) return next();
    const isShown = row.mime?.startsWith("image/");
    response.setHeader("content-type", row.mime ?? "application/octet-stream");
    response.setHeader("content-length", Number(row.size));
    response.setHeader("content-disposition", isShown ? "inline" : "attachment");
    response.setHeader("content-security-policy", "default-src 'none'; sandbox");
    response.setHeader("cross-origin-resource-policy", "cross-origin");
    response.setHeader("cache-control", CACHING);
    if (request.method === "HEAD") {
      bytes.destroy();
      return void response.end();
    }
    // The client may leave in the middle.
    await pipeline(bytes, response).catch(() => response.destroy());
  };
  router.get("/{*path}", show);
  return router;
}
