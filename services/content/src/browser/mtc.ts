/**
 * Reports the pages that a visitor sees to the public web. A page calls it by a queue under a name of its own:
 * `mt("send", "pageview", {…}, { onload, onerror })` and `mt("consent", true)`.
 */

import { describePage, textsOf } from "./page-members.ts";
import { call, isImageLoaded, packed } from "./reach.ts";
import {
  CONSENT,
  COUNTER,
  consent,
  DEVICE,
  forget,
  forgetAll,
  IDS,
  isKeepingAllowed,
  isRefusing,
  isSendingAllowed,
  keep,
  kept,
  type Members,
  needDevice,
  prefix,
  served,
  url,
} from "./visitor.ts";

interface Callbacks {
  onload?: unknown;
  onerror?: unknown;
}

/** A page view that is not sent yet. */
interface View {
  members: Members;
  on: Callbacks;
}

const EVENT_URL = `${url}/mtc/event`;
const WAITING = `${prefix}_waiting`;
const WAITING_MAX = 20;
const WAITING_LENGTH_MAX = 20_000;

/** The answer of the visitor to the question for consent. */
let decision = kept(CONSENT);

const maySend = () => isSendingAllowed(decision);
const mayKeep = () => isKeepingAllowed(decision);

/** Only the answer that changes how the next page behaves is kept: agreement where it is required, refusal elsewhere. */
function decide(isGiven: boolean): void {
  const couldSend = maySend();
  decision = isGiven ? "1" : "0";
  if (isGiven && !couldSend) {
    if (consent === "required") keep(CONSENT, decision);
    else forget(CONSENT);
    void sendAll();
  } else if (!isGiven) {
    waiting = [];
    // A landing page has no storage: its visitor may have agreed elsewhere.
    if (couldSend || served) withdraw();
  }
}

/** A beacon is sent with cookies from every site, so the answer can delete those of the public web. */
function withdraw(): void {
  reportLeaving({ consent: "0", ...(served && { served }) });
  forgetAll();
  if (consent !== "required") keep(CONSENT, "0");
}

let views = 0;

/** The number of this view among those of the tab. */
function countView(): number {
  views = Math.max(views, Number(mayKeep() && kept(COUNTER)) || 0) + 1;
  if (mayKeep()) keep(COUNTER, `${views}`);
  return views;
}

function ids(): Members {
  const known: Members = {};
  for (const name of mayKeep() ? IDS : []) {
    const id = kept(name);
    if (id) known[name] = id;
  }
  return known;
}

/** Views that are not sent yet, the oldest first. */
let waiting: View[] = [];
/** Names the hit of the latest view: its signed id, or until that is known its address and the page that was served. */
let current: Members = {};
let latest: Members | undefined;
let hasLeft = false;
let isSending = false;

function see(attributes: object, callbacks: Callbacks): void {
  // After a refusal in this page, later views are not held back for a change of mind.
  if (decision === "0") return;
  // The first view completes the hit of a landing page; later ones are its visitor's.
  const named: Members = served ? { [latest ? "served" : "hit"]: served } : {};
  const members: Members = { ...describePage(), ...textsOf(attributes), ...named };
  latest = members;
  current = { ...named, page_url: members.page_url as string };
  hasLeft = false;
  waiting = [...waiting, { members, on: callbacks }].slice(-WAITING_MAX);
  void sendAll();
}

/** Sends views one after the other, so that they are recorded in their order. */
async function sendAll(): Promise<void> {
  if (isSending || !maySend()) return;
  isSending = true;
  waiting = [...takeStored(), ...waiting];
  for (let view = waiting[0]; view; view = waiting[0]) {
    // Not before it may be sent: until then the counter is not kept.
    view.members.counter ??= `${countView()}`;
    const outcome = await sendInTurn(view);
    if (outcome === AWAY) {
      storeWaiting(waiting);
      for (const { on } of waiting) run(on.onerror);
      waiting = [];
    } else {
      // A withdrawal of consent, or leaving the page, may have emptied the list since.
      if (waiting[0] === view) waiting.shift();
      run(outcome === TAKEN ? view.on.onload : view.on.onerror);
      if (outcome === TAKEN) fillSlots();
    }
  }
  isSending = false;
}

/** Runs a callback of the page outside of ours: an error in it is the page's. */
function run(callback: unknown): void {
  if (typeof callback === "function") setTimeout(callback as () => void);
}

const TAKEN = 0;
/** Another try would be refused again. */
const REFUSED = 1;
/** It is worth another try with the next page. */
const AWAY = 2;
type Outcome = typeof TAKEN | typeof REFUSED | typeof AWAY;

/**
 * The first view of a new visitor is sent by one tab after the other, so that the others find the id in the storage that they share. Pages without
 * TLS and pages in a sandbox have no locks.
 */
async function sendInTurn(view: View): Promise<Outcome> {
  const { locks } = navigator as Partial<Navigator>;
  if (!locks || window.origin === "null" || !mayKeep() || kept(DEVICE)) return sendFirst(view);
  return locks.request(WAITING, async () => {
    // The browser brings the writes of other tabs when this one is idle.
    await new Promise((resolve) => setTimeout(resolve));
    return sendFirst(view);
  });
}

/** Sends the first of the views that wait. */
async function sendFirst(view: View): Promise<Outcome> {
  // The page was hidden meanwhile, and stored the view.
  if (!waiting.includes(view)) return AWAY;
  isCalling = true;
  const outcome = await send(view.members);
  isCalling = false;
  return outcome;
}

let isCalling = false;

/** Sends a hit by a call, and by an image where the page may not call. */
async function send(members: Members): Promise<Outcome> {
  if (mayKeep()) needDevice();
  const sent = { ...members, ...ids(), ...(consent === "required" && { consent: "1" }) };
  let answer: Response;
  try {
    answer = await call(EVENT_URL, { method: "POST", body: new URLSearchParams(sent), keepalive: true });
  } catch {
    return (await isImageLoaded(`${url}/mtracking.gif?d=${packed(sent)}`)) ? TAKEN : AWAY;
  }
  // An image would not help: it is answered even where its hit is refused.
  if (answer.status === 429 || answer.status >= 500) return AWAY;
  if (!answer.ok) return REFUSED;
  const taken: Answer = await answer.json().catch(() => ({}));
  keepIds(taken);
  if (taken.hit && members === latest) current = { hit: taken.hit };
  return TAKEN;
}

interface Answer {
  hit?: string;
  id?: number | null;
  device_id?: string | null;
}

/** While the database is away, the answer names the device without a contact. */
function keepIds({ id, device_id }: Answer): void {
  if (!device_id || !mayKeep()) return;
  if (id) keep("mtc_id", `${id}`);
  keep("mtc_sid", device_id);
  keep(DEVICE, device_id);
}

/** Keeps views for the next page, without the oldest where they are too many or too long. */
function storeWaiting(unsent: View[]): void {
  if (!mayKeep()) return;
  const stored = [...takeStored(), ...unsent].map(({ members }) => members).slice(-WAITING_MAX);
  while (JSON.stringify(stored).length > WAITING_LENGTH_MAX) stored.shift();
  if (stored.length > 0) keep(WAITING, JSON.stringify(stored));
}

/** Takes the views that earlier pages could not send out of the storage. */
function takeStored(): View[] {
  const text = mayKeep() && kept(WAITING);
  if (!text) return [];
  forget(WAITING);
  try {
    return JSON.parse(text).map((members: Members) => ({ members, on: {} }));
  } catch {
    return []; // another script of the site wrote there
  }
}

/** Slots that were asked for, each once. */
const asked = new WeakSet<Element>();

/** Fills the parts of the page that differ from visitor to visitor. Their own content stays for a visitor who is not known. */
function fillSlots(): void {
  const known = ids();
  if (!known[DEVICE]) return;
  const query = new URLSearchParams({ page_url: location.href, ...known });
  const selector = `[data-slot="dwc"][data-param-slot-name],.${prefix}-slot[data-slot-name]`;
  document.querySelectorAll<HTMLElement>(selector).forEach(async (slot) => {
    const name = slot.dataset.paramSlotName || slot.dataset.slotName;
    if (!name || asked.has(slot)) return;
    asked.add(slot);
    try {
      const answer = await call(`${url}/dwc/${encodeURIComponent(name)}?${query}`);
      if (answer.status === 200) slot.innerHTML = (await answer.json()).content;
    } catch {
      // The page's own content stays.
    }
  });
}

/** Reports that the visitor left, once for each view. */
function leave(): void {
  if (hasLeft || !latest || !mayKeep() || !(kept(DEVICE) || served || current.hit)) return;
  hasLeft = true;
  reportLeaving(current);
}

function reportLeaving(members: Members): void {
  const device = kept(DEVICE);
  const sent = { left: "1", ...members, ...(device && { [DEVICE]: device }) };
  navigator.sendBeacon(EVENT_URL, new URLSearchParams(sent));
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) leave();
});
addEventListener("pagehide", () => {
  leave();
  // The call for the first one goes on without the page.
  storeWaiting(waiting.splice(isCalling ? 1 : 0));
});

function take([action, subject, attributes, callbacks]: unknown[]): void {
  if (action === "consent" && typeof subject === "boolean") decide(subject);
  if (action === "send" && subject === "pageview")
    see({ ...(attributes as object) }, { ...(callbacks as object) });
}

/** Replaces each queue of the page by a function that works at once. The word that ends in `TrackingObject` names it. */
function begin(): void {
  const globals = window as unknown as Record<string, unknown>;
  // Other globals are not read: in a sandbox, reading `localStorage` throws.
  for (const word of Object.keys(globals)) {
    const name = word.endsWith("TrackingObject") && globals[word];
    if (typeof name !== "string") continue;
    const queue = globals[name] as { q?: ArrayLike<unknown>[] } | undefined;
    globals[name] = (...parts: unknown[]) => take(parts);
    for (const parts of queue?.q ?? []) take(Array.from(parts));
  }
}

// Ids of an earlier visit go when the visitor turns the signal on.
if (consent === "signal" && isRefusing) forgetAll(CONSENT);
if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin);
else begin();
