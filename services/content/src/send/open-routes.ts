import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { isOutage } from "@tidings/rpc/outage";
import { BLANK_IMAGE } from "@tidings/runtime/blank-image";
import type { Log } from "@tidings/runtime/log";
import { type Request, type Response, Router } from "express";
import type { VisitSettings } from "../visit/visit-settings.ts";
import { sandboxPolicy } from "../web/policy.ts";
import type { MailLinks } from "./mail-links.ts";
import { knownDeviceOf } from "./open-devices.ts";
import { readerVerdict } from "./reader-verdict.ts";
import type { RecordOpen } from "./record-opens.ts";
import type { RecordView } from "./record-views.ts";
import type { RenderSend } from "./render-send.ts";
import { SHOWN_COLUMNS, storedSend } from "./stored-send.ts";

export interface OpenRouteOptions {
  database: Database;
  log: Log;
  settings: VisitSettings;
  links: MailLinks;
  recordOpen: RecordOpen;
  recordView: RecordView;
  /** Without the picture. */
  render: RenderSend;
}

const findStatement = prepared("sends_view", `select ${SHOWN_COLUMNS} from sends where hash = $1`);
const PIXEL = /^([\w-]+\.[\w-]{22})\.gif$/;

/** `/email/<token>.gif`, the picture in a mail, and `/email/view/<token>`, the mail as a page (engines.md 6.6). */
export function openRoutes({
  database,
  log,
  settings,
  links,
  recordOpen,
  recordView,
  render,
}: OpenRouteOptions): Router {
  const router = Router({ caseSensitive: true });
  /** An open is lost while the database is away, and the picture is shown. */
  const note = async (request: Request, hash: string, by: "picture" | "web view") => {
    const { headers, method } = request;
    const ip = String(headers["x-forwarded-for"] ?? "");
    const { verdict, reason } = readerVerdict({ method, headers, ip }, settings.machines);
    const machine = reason === "prefetch" ? "prefetch" : "machine";
    const recording = async () => {
      if (verdict === "machine") return recordOpen({ hash, by, verdict: machine });
      const device = await knownDeviceOf(request, settings);
      if (by === "picture") return recordOpen({ hash, by, device });
      return recordView({ hash, at: settings.now(), device });
    };
    await recording().catch((error) => {
      if (!isOutage(error)) log.error({ err: error }, "an open was not recorded");
    });
  };
  router.get("/email/:file", async (request: Request, response: Response, next) => {
    const token = PIXEL.exec(String(request.params.file))?.[1];
    const send = token === undefined ? undefined : links.read("open", token);
    if (!send) return next();
    await note(request, send.hash, "picture");
    response.setHeader("cache-control", "no-store, no-cache, max-age=0");
    response.type("image/gif").send(BLANK_IMAGE);
  });
  router.get("/email/view/:token", async (request: Request, response: Response, next) => {
    const send = links.read("web view", String(request.params.token));
    const [row] = send ? await database.query(findStatement, [send.hash], backgroundDeadline()) : [];
    if (!send || !row) return next();
    const { mail } = await render(storedSend(row));
    await note(request, send.hash, "web view");
    response.setHeader("content-security-policy", sandboxPolicy());
    response.setHeader("referrer-policy", "no-referrer");
    response.setHeader("x-robots-tag", "noindex, nofollow");
    if (mail.html) response.type("text/html").send(mail.html);
    else response.type("text/plain").send(mail.text);
  });
  return router;
}
