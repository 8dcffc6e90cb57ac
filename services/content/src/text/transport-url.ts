import { isObject, jsonIn } from "@tidings/resource/json-member";

/** A URL that says how text messages leave. */
export type TextUrl = { kind: "log"; country: string } | TextApi;

/** The API of a provider that takes a message with one POST. */
export interface TextApi {
  kind: "form" | "json";
  /** Numbers without a code of a country belong to this one. */
  country: string;
  url: string;
  /** The value of the header `Authorization`, if there is one. */
  authorization: string | undefined;
  /** The sender: a number or a word. */
  from: string;
  /** The JSON with `{to}`, `{from}` and `{text}` in its texts; undefined for forms. */
  template?: unknown;
}

interface Problem {
  problem: string;
}

const SCHEME = /^(form|json)\+(?=https?:\/\/)/i;
const COUNTRY = /^[1-9]\d{0,2}$/;
const DEFAULT_COUNTRY = "1";
/** Parameters that are read here; the others are the provider's. */
const OWN = ["from", "country", "body"];

/**
 * Reads `log:`, `form+https://user:password@host/path?from=+49151` or `json+https://token@host/path?body={"to":"{to}","message":"{text}"}`. A text that
 * says why it is none of them names nothing of the URL: a password may stand in it.
 */
export function readTextUrl(text: string): TextUrl | Problem {
  const kind = SCHEME.exec(text)?.[1]?.toLowerCase();
  const isLog = /^log:(?:\?|$)/.test(text);
  if (kind === undefined && !isLog) return { problem: "is none of log:, form+https: and json+https:" };
  const address = isLog ? text : text.replace(SCHEME, "");
  if (!URL.canParse(address)) return { problem: "is no URL" };
  const url = new URL(address);
  // A number begins with a plus, which is no space here.
  const parameters = new URLSearchParams(url.search.replaceAll("+", "%2B"));
  const country = parameters.get("country") ?? DEFAULT_COUNTRY;
  if (!COUNTRY.test(country)) return { problem: "has a parameter country that is no code such as 1 or 49" };
  if (isLog) return { kind: "log", country };
  const authorization = authorizationOf(url);
  if (typeof authorization === "object") return authorization;
  const from = parameters.get("from")?.trim() ?? "";
  const written = kind === "json" ? readTemplate(parameters.get("body") ?? "") : { isFrom: true };
  if ("problem" in written) return written;
  const { isFrom, template } = written;
  if (isFrom && from === "") return { problem: "names no sender (from)" };
  for (const name of OWN) parameters.delete(name);
  url.search = parameters.toString();
  [url.username, url.password, url.hash] = ["", "", ""];
  return { kind: kind === "json" ? "json" : "form", country, url: url.href, authorization, from, template };
}

/** A user and a password, or a token alone. */
function authorizationOf({ username, password }: URL): string | undefined | Problem {
  try {
    const [user, secret] = [decodeURIComponent(username), decodeURIComponent(password)];
    if (user === "" && secret === "") return undefined;
    if (user === "") return { problem: "has a password without a user" };
    if (secret === "")
      return /^[!-~]+$/.test(user) ? `Bearer ${user}` : { problem: "has a token that no header can have" };
    return `Basic ${Buffer.from(`${user}:${secret}`).toString("base64")}`;
  } catch {
    return { problem: "has a user or password that is not percent-encoded" }; // a lone percent sign
  }
}

function readTemplate(json: string): { isFrom: boolean; template?: unknown } | Problem {
  const template = jsonIn(json);
  if (!isObject(template) && !Array.isArray(template))
    return { problem: "has no parameter body that is a JSON object" };
  const named = new Set(textsIn(template).flatMap((text) => text.match(/\{(?:to|from|text)\}/g) ?? []));
  if (!named.has("{to}") || !named.has("{text}"))
    return { problem: "has a parameter body without {to} or {text}" };
  return { isFrom: named.has("{from}"), template };
}

function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (isObject(value)) return Object.values(value).flatMap(textsIn);
  return typeof value === "string" ? [value] : [];
}
