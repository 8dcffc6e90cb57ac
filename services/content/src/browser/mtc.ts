/**
 * Reports the pages that a visitor sees to the public web. The page calls it by a queue under a name of its own:
 * `mt("send", "pageview", {…})`, `mt("consent", true)`.
 */

interface Settings {
  /** The address of the public web. */
  url: string;
  /** The word in names of parameters, of attributes and of what is kept. */
  prefix: string;
  consent: "signal" | "required" | "off";
}

/** The settings of the installation: the text around this one gives them. */
declare const SETTINGS: Settings;

type Call = ArrayLike<unknown>;
type Members = Record<string, string>;

interface Queue {
  (...call: unknown[]): void;
  q?: Call[];
}

interface Callbacks {
  onload?: () => void;
  onerror?: () => void;
}

const { url, prefix, consent } = SETTINGS;
const DEVICE = `${prefix}_device_id`;
const CONSENT = `${prefix}_consent`;
const WAITING = `${prefix}_waiting`;
const IDS = ["mtc_id", "mtc_sid", DEVICE];
const WAITING_MAX = 20;

/** Some browsers, and pages in a sandbox, have no storage: then nothing is kept. */
function kept(name: string, value?: string | null): string | null {
  try {
    if (value === undefined) return localStorage.getItem(name);
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {}
  return null;
}

const refuses =
  navigator.doNotTrack === "1" ||
  (navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl === true;
let isAgreed = consent === "off" || (consent === "signal" && !refuses) || kept(CONSENT) === "1";
/** Page views before the visitor has agreed. */
let held: [Members, Callbacks][] = [];
let counter = 0;

function describe(): Members {
  const { title, referrer, documentElement } = document;
  return {
    page_title: title,
    page_language: documentElement.lang || navigator.language,
    preferred_locale: navigator.language.replace("-", "_"),
    page_referrer: referrer ? new URL(referrer).host : "",
    page_url: location.href,
    counter: String(counter++),
    timezone_offset: String(new Date().getTimezoneOffset()),
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone || "",
    resolution: `${screen.width}x${screen.height}`,
    platform: navigator.platform,
    do_not_track: String(refuses),
  };
}

function withIds(members: Members): Members {
  const sent = { ...members };
  if (!isAgreed) return sent;
  for (const name of IDS) {
    const id = kept(name);
    if (id) sent[name] = id;
  }
  if (consent === "required") sent.consent = "1";
  return sent;
}

/** Sends a hit: by a call, else by an image; what the network does not take waits for the next page. */
function send(members: Members, { onload, onerror }: Callbacks = {}): void {
  const sent = withIds(members);
  const body = new URLSearchParams(sent);
  fetch(`${url}/mtc/event`, {
    method: "POST",
    body,
    keepalive: true,
    credentials: isOwn() ? "include" : "omit",
  })
    .then((answer) => answer.json())
    .then((answer: Record<string, unknown>) => {
      if (isAgreed && answer.device_id) {
        kept("mtc_id", String(answer.id));
        kept("mtc_sid", String(answer.sid));
        kept(DEVICE, String(answer.device_id));
      }
      onload?.();
    })
    .catch(() => {
      const image = new Image();
      image.onload = () => onload?.();
      image.onerror = () => {
        wait(members);
        onerror?.();
      };
      image.src = `${url}/mtracking.gif?d=${encodeURIComponent(btoa(unescape(encodeURIComponent(JSON.stringify(sent)))))}`;
    });
}

/** Cookies go along on the public web itself: other sites keep the id in their own storage. */
function isOwn(): boolean {
  return location.origin === new URL(url).origin;
}

function wait(members: Members): void {
  if (isAgreed) kept(WAITING, JSON.stringify([...waiting(), members].slice(-WAITING_MAX)));
}

function waiting(): Members[] {
  try {
    return JSON.parse(kept(WAITING) || "[]");
  } catch {
    return [];
  }
}

/** The page counted this visit while it was served: the script only completes it. */
const served = document.querySelector<HTMLMetaElement>(`meta[name="${prefix}-hit"]`)?.content;

function see(attributes: Members, callbacks: Callbacks): void {
  if (consent === "required" && !isAgreed) {
    held.push([attributes, callbacks]);
    return;
  }
  for (const members of waiting()) send(members);
  kept(WAITING, null);
  send({ ...describe(), ...attributes, ...(served && counter === 1 && { hit: served }) }, callbacks);
  fillSlots();
}

function agree(isGiven: boolean): void {
  isAgreed = isGiven;
  if (isGiven) {
    kept(CONSENT, "1");
    const views = held;
    held = [];
    for (const [attributes, callbacks] of views) see(attributes, callbacks);
    return;
  }
  const id = kept(DEVICE);
  for (const name of [...IDS, CONSENT, WAITING]) kept(name, null);
  held = [];
  const body = new URLSearchParams({ consent: "0", left: "1", ...(id && { [DEVICE]: id }) });
  void fetch(`${url}/mtc/event`, {
    method: "POST",
    body,
    keepalive: true,
    credentials: isOwn() ? "include" : "omit",
  }).catch(() => {}); // nothing is kept here
}

/** Parts of the page that differ from visitor to visitor; the page's own stay where there are none. */
function fillSlots(): void {
  for (const place of Array.from(
    document.querySelectorAll<HTMLElement>(`[data-slot="dwc"],.${prefix}-slot`),
  )) {
    const { paramSlotName, slotName } = place.dataset;
    const name = paramSlotName || slotName;
    if (!name || place.dataset.filled) continue;
    place.dataset.filled = "1";
    const query = new URLSearchParams(withIds({ page_url: location.href }));
    fetch(`${url}/dwc/${encodeURIComponent(name)}?${query}`, { credentials: isOwn() ? "include" : "omit" })
      .then((answer) => (answer.status === 200 ? answer.json() : undefined))
      .then((answer?: { content: string }) => {
        if (answer) place.innerHTML = answer.content;
      })
      .catch(() => {}); // the page's own content stays
  }
}

let hasLeft = false;
function leave(): void {
  if (hasLeft || counter === 0 || document.visibilityState !== "hidden") return;
  hasLeft = true;
  const sent = withIds({ left: "1", ...(served && { hit: served }) });
  if (sent.hit || sent[DEVICE]) navigator.sendBeacon(`${url}/mtc/event`, new URLSearchParams(sent));
}
document.addEventListener("visibilitychange", leave);
addEventListener("pagehide", leave);

function take(call: Call): void {
  const [action, what, attributes, callbacks] = Array.from(call);
  if (action === "consent") agree(what === true);
  if (action === "send" && what === "pageview")
    see({ ...(attributes as Members) }, { ...(callbacks as Callbacks) });
}

/** The queue has whatever name the page gave it: the word that ends in `TrackingObject` says which. */
function begin(): void {
  const names = window as unknown as Record<string, unknown>;
  for (const key of Object.keys(names)) {
    if (!key.endsWith("TrackingObject") || typeof names[key] !== "string") continue;
    const name = names[key] as string;
    const queue = names[name] as Queue | undefined;
    const calls = queue?.q ?? [];
    names[name] = (...call: unknown[]) => take(call);
    for (const call of Array.from(calls)) take(call);
  }
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
else begin();
