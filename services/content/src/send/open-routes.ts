import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { isOutage } from "@tidings/rpc/outage";
import { BLANK_IMAGE } from "@tidings/runtime/blank-image";
import type { Log } from "@tidings/runtime/log";
import { PLAIN_POLICY, plainPage } from "@tidings/runtime/plain-page";
import { type Request, type Response, Router } from "express";
import type { MayFollow } from "../visit/reader-consent.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import { sandboxPolicy } from "../web/policy.ts";
import type { LinkedSend, MailLinks } from "./mail-links.ts";
import { sourceOfOpen } from "./open-devices.ts";
import { readerVerdict } from "./reader-verdict.ts";
import type { RecordOpen } from "./record-opens.ts";
import type { RecordTrap } from "./record-traps.ts";
import type { RecordView } from "./record-views.ts";
import type { RenderSend } from "./render-send.ts";
import { SHOWN_COLUMNS, storedSend } from "./stored-send.ts";

export interface OpenRouteOptions {
  database: Database;
  log: Log;
  settings: VisitSettings;
  mayFollow: MayFollow;
  links: MailLinks;
  recordOpen: RecordOpen;
  recordView: RecordView;
  recordTrap: RecordTrap;
  /** Without the picture. */
  render: RenderSend;
}

const findStatement = prepared("sends_view", `select ${SHOWN_COLUMNS} from sends where hash = $1`);
const PIXEL = /^([\w-]+\.[\w-]{22})\.gif$/;

/**
 * `/email/<token>.gif`, the picture in a mail, and `/email/view/<token>`, the mail as a page (engines.md 6.6); and `/email/more/<token>`, which scanners
 * alone find.
 */
export function openRoutes(options: OpenRouteOptions): Router {
  const { database, log, links, recordTrap, render } = options;
  const router = Router({ caseSensitive: true });
  const note = openNote(options);
  router.get("/email/:file", async (request: Request, response: Response, next) => {
    const token = PIXEL.exec(String(request.params.file))?.[1];
    const send = token === undefined ? undefined : links.read("open", token);
    if (!send) return next();
    await note(request, send, "picture");
    response.setHeader("cache-control", "no-store, no-cache, max-age=0");
    response.type("image/gif").send(BLANK_IMAGE);
  });
  router.get("/email/more/:token", async (request: Request, response: Response, next) => {
    const send = links.read("open", String(request.params.token));
    if (!send) return next();
    await recordTrap(send.hash).catch((error) => {
      if (!isOutage(error)) log.error({ err: error }, "a scanner was not recorded");
    });
    response.setHeader("content-security-policy", PLAIN_POLICY);
    response.setHeader("x-robots-tag", "noindex, nofollow");
    response.type("text/html").send(plainPage("Nothing more", "There is nothing more to read here."));
  });
  router.get("/email/view/:token", async (request: Request, response: Response, next) => {
    const send = links.read("web view", String(request.params.token));
    const [row] = send ? await database.query(findStatement, [send.hash], backgroundDeadline()) : [];
    if (!send || !row) return next();
    const { mail } = await render(storedSend(row));
    await note(request, send, "web view");
    response.setHeader("content-security-policy", sandboxPolicy());
    response.setHeader("referrer-policy", "no-referrer");
    response.setHeader("x-robots-tag", "noindex, nofollow");
    if (mail.html) response.type("text/html").send(mail.html);
    else response.type("text/plain").send(mail.text);
  });
  return router;
}

/** An open is lost while the database is away, and the picture is shown. */
function openNote({ log, settings, mayFollow, recordOpen, recordView }: OpenRouteOptions) {
  return async (request: Request, { hash, contactId }: LinkedSend, by: "picture" | "web view") => {
    const { headers, method } = request;
    const ip = String(headers["x-forwarded-for"] ?? "");
    const { verdict, reason } = readerVerdict({ method, headers, ip }, settings.machines);
    const machine = reason === "prefetch" ? "prefetch" : "machine";
    const recording = async () => {
      if (verdict === "machine") return recordOpen({ hash, by, verdict: machine });
      if (!(await mayFollow(request, contactId))) return recordOpen({ hash, by, verdict: "anonymous" });
      const source = await sourceOfOpen(request, settings);
      if (by === "picture") return recordOpen({ hash, by, ...source });
      return recordView({ hash, at: settings.now(), ...source });
    };
    await recording().catch((error) => {
      if (!isOutage(error)) log.error({ err: error }, "an open was not recorded");
    });
  };
}
