import type { Database } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import { arrivesWithin } from "@tidings/runtime/http-server";
import type { Log } from "@tidings/runtime/log";
import { sharesByAddress } from "@tidings/runtime/shares";
import { type Request, type Response, Router } from "express";
import { readBody } from "../web/read-body.ts";
import { beginCounting, noteRecorded, noteRefused, noteUnread, type RefusedFor } from "./callback-metrics.ts";
import type { Callback } from "./callback-secrets.ts";
import type { CallbackRequest, Checked } from "./check.ts";
import type { Feedback } from "./feedback.ts";
import { EVENT_DAYS, recordFeedback } from "./record-feedback.ts";

export interface CallbackRouteOptions {
  database: Database;
  outbox: Outbox;
  log: Log;
  callbacks: Callback[];
  fetchText: CallbackRequest["fetchText"];
}

const BODY_BYTES_MAX = 1_024 * 1_024;
const ITEMS_MAX = 5_000;
const ARRIVAL_MAX_MS = 10_000;
/** Each may hold a body in memory. */
const AT_ONCE = { inAll: 64, perAddress: 8 };
const RETRY_AFTER_SECONDS = 5;
/** An event is taken again once it is forgotten; before, it is too old to be taken. */
const AGE_MAX_MS = (EVENT_DAYS - 1) * 86_400_000;
const EARLY_MS = 86_400_000;

const ANSWERS: Record<RefusedFor, { status: number; message: string }> = {
  signature: { status: 403, message: "The signature or secret is missing or wrong." },
  stale: { status: 403, message: "The signature is too old." },
  body: { status: 400, message: "The body is not what this provider sends." },
  size: { status: 413, message: `A callback has at most ${BODY_BYTES_MAX} bytes and ${ITEMS_MAX} items.` },
  busy: { status: 429, message: "Too many callbacks at a time." },
};

/** `POST /mailer/callback/<name>`; without a name the one provider that is set up is meant (engines.md 6.6). */
export function callbackRoutes(options: CallbackRouteOptions): Router {
  const { callbacks } = options;
  const router = Router({ caseSensitive: true });
  const named = new Map<string, Callback>(callbacks.map((callback) => [callback.name, callback]));
  if (callbacks.length === 1 && callbacks[0]) named.set("", callbacks[0]);
  for (const { name } of callbacks) beginCounting(name);
  const shares = sharesByAddress(AT_ONCE);
  const take = async (request: Request, response: Response, callback: Callback) => {
    const address = String(request.headers["x-forwarded-for"] ?? "");
    if (shares.take(address)) return refuse(response, callback, "busy");
    try {
      arrivesWithin(request, ARRIVAL_MAX_MS);
      const { text: body, isCut } = await readBody(request, BODY_BYTES_MAX);
      if (isCut) return refuse(response, callback, "size");
      const now = options.database.now();
      const { headers } = request;
      const checked = await check(callback, { headers, body, now, fetchText: options.fetchText });
      if ("refused" in checked) return refuse(response, callback, checked.refused);
      if (checked.items.length > ITEMS_MAX) return refuse(response, callback, "size");
      response.json(await record(options, callback, { ...checked, now }));
    } finally {
      shares.giveBack(address);
    }
  };
  router.post(["/mailer/callback", "/mailer/callback/:name"], async (request: Request, response, next) => {
    const callback = named.get(String(request.params.name ?? ""));
    if (!callback) return next();
    await take(request, response, callback);
  });
  return router;
}

/** A callback is taken by the first check that it passes. */
async function check({ checks }: Callback, request: CallbackRequest): Promise<Checked> {
  let checked: Checked = { refused: "signature" };
  for (const one of checks) {
    const result = await one(request);
    if (!("refused" in result)) return result;
    if (result.refused !== "signature") checked = result;
  }
  return checked;
}

interface Sent {
  items: unknown[];
  nonce?: string;
  now: number;
}

async function record(
  { database, outbox, log }: CallbackRouteOptions,
  { name, read }: Callback,
  { items, nonce, now }: Sent,
): Promise<object> {
  const feedback: Feedback[] = [];
  let [ignored, setAside] = [0, 0];
  for (const item of items) {
    const events = read(item);
    if (!events?.every(({ at }) => at > now - AGE_MAX_MS && at < now + EARLY_MS)) setAside += 1;
    else if (events.length === 0) ignored += 1;
    else feedback.push(...events.map((event) => ({ ...event, at: Math.min(event.at, now) })));
  }
  const recorded = await recordFeedback(database, outbox, { provider: name, feedback, nonce });
  noteRecorded(name, recorded);
  noteUnread(name, { ignored, set_aside: setAside });
  if (setAside > 0) log.warn({ provider: name, items: setAside }, "items of a callback cannot be read");
  const { kinds, known, unmatched } = recorded;
  return { taken: kinds.length, known, unmatched, ignored, setAside };
}

function refuse(response: Response, { name }: Callback, reason: RefusedFor): void {
  noteRefused(name, reason);
  const { status, message } = ANSWERS[reason];
  if (reason === "busy") response.setHeader("retry-after", RETRY_AFTER_SECONDS);
  response.status(status).json({ errors: [{ code: status, message, type: reason }] });
}
