import { isObject, jsonIn } from "@tidings/resource/json-member";

/** A URL that says how messages of a channel leave. */
export type TransportUrl = { kind: "log" } | ProviderApi;

/** A URL that says how text messages leave. Numbers without a code of a country belong to its own. */
export type TextUrl = TransportUrl & { country: string };

/** The API of a provider that takes a message with one POST. */
export interface ProviderApi {
  kind: "form" | "json";
  url: string;
  /** The value of the header `Authorization`, if there is one. */
  authorization: string | undefined;
  /** The sender: a number or a word. */
  from: string;
  /** The JSON with values such as `{to}` and `{text}` in its texts; undefined for forms. */
  template?: unknown;
}

interface Problem {
  problem: string;
}

/** The rules for URLs of a channel. */
interface UrlRules {
  schemes: ProviderApi["kind"][];
  /** Values that a template has to name. */
  needed: string[];
}

const TEXTS: UrlRules = { schemes: ["form", "json"], needed: ["to", "text"] };
const TWEETS: UrlRules = { schemes: ["json"], needed: ["text"] };
const NOTIFICATIONS: UrlRules = { schemes: ["json"], needed: ["to", "text"] };
const SCHEME = /^(form|json)\+(?=https?:\/\/)/i;
const COUNTRY = /^[1-9]\d{0,2}$/;
const DEFAULT_COUNTRY = "1";
/** Parameters that are read here; the others are the provider's. */
const OWN = ["from", "country", "body", "scheme"];

/**
 * Reads `log:`, `form+https://user:password@host/path?from=+49151` or `json+https://token@host/path?body={"to":"{to}","message":"{text}"}`. A text that
 * says why it is none of them names nothing of the URL: a password may stand in it.
 */
export function readTextUrl(text: string): TextUrl | Problem {
  const country = parametersIn(text).get("country") ?? DEFAULT_COUNTRY;
  const url = readUrl(text, TEXTS);
  if ("problem" in url) return url;
  if (!COUNTRY.test(country)) return { problem: "has a parameter country that is no code such as 1 or 49" };
  return { ...url, country };
}

/** Reads `log:` or `json+https://token@host/path?body={"text":"{text}"}`. */
export function readTweetUrl(text: string): TransportUrl | Problem {
  return readUrl(text, TWEETS);
}

/** Reads `log:` or `json+https://token@host/path?body={"ids":["{to}"],"title":"{heading}","text":"{text}","url":"{url}"}`. */
export function readPushUrl(text: string): TransportUrl | Problem {
  return readUrl(text, NOTIFICATIONS);
}

function readUrl(text: string, { schemes, needed }: UrlRules): TransportUrl | Problem {
  if (/^log:(?:\?|$)/.test(text)) return { kind: "log" };
  const kind = schemes.find((scheme) => scheme === SCHEME.exec(text)?.[1]?.toLowerCase());
  if (kind === undefined)
    return { problem: `is none of log: and ${schemes.map((scheme) => `${scheme}+https:`).join(", ")}` };
  const address = text.replace(SCHEME, "");
  if (!URL.canParse(address)) return { problem: "is no URL" };
  const url = new URL(address);
  const parameters = parametersIn(address);
  const authorization = authorizationOf(url, parameters.get("scheme") ?? "Bearer");
  if (typeof authorization === "object") return authorization;
  const from = parameters.get("from")?.trim() ?? "";
  const written = kind === "json" ? readTemplate(parameters.get("body") ?? "", needed) : { isFrom: true };
  if ("problem" in written) return written;
  const { isFrom, template } = written;
  if (isFrom && from === "") return { problem: "names no sender (from)" };
  for (const name of OWN) parameters.delete(name);
  url.search = parameters.toString();
  [url.username, url.password, url.hash] = ["", "", ""];
  return { kind, url: url.href, authorization, from, template };
}

/** A number begins with a plus, which is no space here. */
function parametersIn(text: string): URLSearchParams {
  const address = text.replace(SCHEME, "");
  const query = URL.canParse(address) ? new URL(address).search : "";
  return new URLSearchParams(query.replaceAll("+", "%2B"));
}

/** A user and a password, or a token alone behind the word of its scheme. */
function authorizationOf({ username, password }: URL, scheme: string): string | undefined | Problem {
  try {
    const [user, secret] = [decodeURIComponent(username), decodeURIComponent(password)];
    if (user === "" && secret === "") return undefined;
    if (user === "") return { problem: "has a password without a user" };
    if (secret !== "") return `Basic ${Buffer.from(`${user}:${secret}`).toString("base64")}`;
    if (!/^[!-~]+$/.test(user)) return { problem: "has a token that no header can have" };
    return /^[A-Za-z]{1,20}$/.test(scheme)
      ? `${scheme} ${user}`
      : { problem: "has a parameter scheme that is no word such as Bearer or Key" };
  } catch {
    return { problem: "has a user or password that is not percent-encoded" }; // a lone percent sign
  }
}

function readTemplate(json: string, needed: string[]): { isFrom: boolean; template?: unknown } | Problem {
  const template = jsonIn(json);
  if (!isObject(template) && !Array.isArray(template))
    return { problem: "has no parameter body that is a JSON object" };
  const named = new Set(textsIn(template).flatMap((text) => text.match(/\{[a-z]+\}/g) ?? []));
  if (!needed.every((name) => named.has(`{${name}}`)))
    return { problem: `has a parameter body without ${needed.map((name) => `{${name}}`).join(" or ")}` };
  return { isFrom: named.has("{from}"), template };
}

function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (isObject(value)) return Object.values(value).flatMap(textsIn);
  return typeof value === "string" ? [value] : [];
}

/** The country of numbers that name none. */
export function countryOf(url: { country?: string } | undefined): string {
  return url?.country ?? DEFAULT_COUNTRY;
}
