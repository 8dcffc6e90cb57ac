import { backgroundDeadline, type Database } from "@tidings/database/database";
import { type RequestHandler, Router } from "express";
import { describeFile } from "./describe-file.ts";
import { findImage } from "./files.ts";
import { sendBytes } from "./send-bytes.ts";
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
    const mime = row.mime ?? "application/octet-stream";
    const disposition = mime.startsWith("image/") ? "inline" : "attachment";
    describeFile(response, { mime, disposition, length: Number(row.size) });
    response.setHeader("cache-control", CACHING);
    if (request.method === "HEAD") {
      bytes.destroy();
      return void response.end();
    }
    await sendBytes(response, bytes);
  };
  router.get("/{*path}", show);
  return router;
}
