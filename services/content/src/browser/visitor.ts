/** The ids of a visitor in the storage of a site, and whether scripts of the public web may keep any there. */

interface Settings {
  /** The origin of the public web. */
  url: string;
  /** The word in names of parameters, of attributes and of kept values. */
  prefix: string;
  consent: "signal" | "required" | "off";
}

/** The settings of the installation: the text around the script gives them. */
declare const SETTINGS: Settings;

export type Members = Record<string, string>;

export const { url, prefix, consent } = SETTINGS;
export const DEVICE = `${prefix}_device_id`;
export const CONSENT = `${prefix}_consent`;
export const COUNTER = `${prefix}_counter`;
export const IDS = ["mtc_id", "mtc_sid", DEVICE];
const ID_LENGTH = 23;

/** Replaces the storage of a page that has none, as in a sandbox: until the page is left. */
const memory = new Map<string, string>();

/** The counter belongs to the tab, all else to the site. */
function storageOf(name: string): Storage {
  return name === COUNTER ? sessionStorage : localStorage;
}

export function kept(name: string): string | null {
  try {
    return storageOf(name).getItem(name);
  } catch {
    return memory.get(name) ?? null;
  }
}

export function keep(name: string, value: string): void {
  try {
    storageOf(name).setItem(name, value);
  } catch {
    memory.set(name, value);
  }
}

/** Forgets what the site keeps under a name. */
export function forget(name: string): void {
  memory.delete(name);
  try {
    localStorage.removeItem(name);
  } catch {} // the page has no storage
}

/** Forgets all that scripts of the public web keep here, but for `but`. */
export function forgetAll(but?: string): void {
  memory.clear();
  try {
    sessionStorage.removeItem(COUNTER);
    for (const name of Object.keys(localStorage))
      if (name !== but && (name.startsWith(`${prefix}_`) || IDS.includes(name))) forget(name);
  } catch {} // the page has no storage
}

/** The signed id of the hit that the public web recorded while it served this page. */
export const served = document.querySelector<HTMLMetaElement>(`meta[name="${prefix}-hit"]`)?.content;

/** The browser signals that its visitor is not to be recognised. */
export const isRefusing =
  navigator.doNotTrack === "1" ||
  (navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl === true;

/** `decision` is the answer of the visitor to the question for consent: "1", "0", or none. */
export function isSendingAllowed(decision: string | null): boolean {
  return consent === "required" ? decision === "1" : decision !== "0";
}

/** May the visitor be recognised? Else nothing is stored, and reports are sent without ids. */
export function isKeepingAllowed(decision: string | null): boolean {
  return isSendingAllowed(decision) && (consent !== "signal" || !isRefusing);
}

/** 23 random characters. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(ID_LENGTH));
  return Array.from(bytes, (byte) => (byte % 36).toString(36)).join("");
}

/** Makes the id of the browser where there is none: all scripts on the page have the same one before any of them has an answer. */
export function needDevice(): void {
  // A landing page knows its visitor by its hit.
  if (!kept(DEVICE) && !served) keep(DEVICE, newId());
}
