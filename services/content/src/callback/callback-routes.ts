import type { Database } from "@tidings/database/database";
import { arrivesWithin } from "@tidings/runtime/http-server";
import type { Log } from "@tidings/runtime/log";
import { sharesByAddress } from "@tidings/runtime/shares";
import { type Request, type Response, Router } from "express";
import { readBody } from "../web/read-body.ts";
import { beginRefusing, noteItems, noteRefused, type RefusedFor } from "./callback-metrics.ts";
import type { CallbackRequest, Check, Checked } from "./check.ts";
import { EVENT_DAYS } from "./event-keys.ts";
import type { CallbackOf } from "./read-entries.ts";

/** How many events of a callback were taken, came before, or are of no send. */
interface TakenEvents {
  taken: number;
  known: number;
  unmatched: number;
}

export interface CallbackRouteOptions<E> {
  /** The paths; `name` of those that have it is that of the provider. */
  paths: string[];
  /** Stands before the name of a provider in metrics. */
  prefix?: string;
  database: Database;
  log: Log;
  publicUrl: string;
  callbacks: CallbackOf<string, E>[];
  fetchText: CallbackRequest["fetchText"];
  /** Takes the events of a callback, each once. A nonce is good for one callback. */
  record(provider: string, events: E[], nonce: string | undefined): Promise<TakenEvents>;
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

/** Takes callbacks of providers by POST; at a path without a name the one provider that is set up is meant. */
export function callbackRoutes<E extends { at: number }>(options: CallbackRouteOptions<E>): Router {
  const { paths, callbacks, publicUrl, fetchText } = options;
  const router = Router({ caseSensitive: true });
  const named = new Map<string, CallbackOf<string, E>>(
    callbacks.map((callback) => [callback.name, callback]),
  );
  if (callbacks.length === 1 && callbacks[0]) named.set("", callbacks[0]);
  for (const { name } of callbacks) beginRefusing(labelOf(options, name));
  const shares = sharesByAddress(AT_ONCE);
  const take = async (request: Request, response: Response, callback: CallbackOf<string, E>) => {
    const label = labelOf(options, callback.name);
    const address = String(request.headers["x-forwarded-for"] ?? "");
    if (shares.take(address)) return refuse(response, label, "busy");
    try {
      arrivesWithin(request, ARRIVAL_MAX_MS);
      const { text: body, isCut } = await readBody(request, BODY_BYTES_MAX);
      if (isCut) return refuse(response, label, "size");
      const now = options.database.now();
      const { headers } = request;
      const url = new URL(publicUrl).origin + request.originalUrl;
      const checked = await check(callback.checks, { headers, url, body, now, fetchText });
      if ("refused" in checked) return refuse(response, label, checked.refused);
      if (checked.items.length > ITEMS_MAX) return refuse(response, label, "size");
      const taken = await record(options, callback, { ...checked, now });
      if (callback.answer) response.type(callback.answer.type).send(callback.answer.body);
      else response.json(taken);
    } finally {
      shares.giveBack(address);
    }
  };
  router.post(paths, async (request: Request, response, next) => {
    const callback = named.get(String(request.params.name ?? ""));
    if (!callback) return next();
    await take(request, response, callback);
  });
  return router;
}

function labelOf({ prefix = "" }: { prefix?: string }, name: string): string {
  return prefix + name;
}

/** A callback is taken by the first check that it passes. */
async function check(checks: Check[], request: CallbackRequest): Promise<Checked> {
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

async function record<E extends { at: number }>(
  options: CallbackRouteOptions<E>,
  { name, read }: CallbackOf<string, E>,
  { items, nonce, now }: Sent,
): Promise<object> {
  const events: E[] = [];
  let [ignored, setAside] = [0, 0];
  for (const item of items) {
    const found = read(item);
    if (!found?.every(({ at }) => at > now - AGE_MAX_MS && at < now + EARLY_MS)) setAside += 1;
    else if (found.length === 0) ignored += 1;
    else events.push(...found.map((event) => ({ ...event, at: Math.min(event.at, now) })));
  }
  const { taken, known, unmatched } = await options.record(name, events, nonce);
  const label = labelOf(options, name);
  noteItems(label, { ignored, set_aside: setAside });
  if (setAside > 0)
    options.log.warn({ provider: label, items: setAside }, "items of a callback cannot be read");
  return { taken, known, unmatched, ignored, setAside };
}

function refuse(response: Response, provider: string, reason: RefusedFor): void {
  noteRefused(provider, reason);
  const { status, message } = ANSWERS[reason];
  if (reason === "busy") response.setHeader("retry-after", RETRY_AFTER_SECONDS);
  response.status(status).json({ errors: [{ code: status, message, type: reason }] });
}
