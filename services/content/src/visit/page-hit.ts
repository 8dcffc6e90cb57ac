import { factKeyOf } from "./fact-key.ts";
import { guessedZone } from "./guess-zone.ts";
import type { Hit } from "./hit.ts";
import { newFactId } from "./hit.ts";
import { cleanText, type Parameters } from "./parameters.ts";
import { proofNames, withoutProofs } from "./proofs.ts";
import type { Utm } from "./sighting.ts";
import type { Visit } from "./visit.ts";
import { CONSENT_PARAMETER, DEVICE_PARAMETER } from "./visit.ts";

/** The parameters that describe a hit; all others may be values of the visitor (engines.md 7.1). */
const OF_THE_HIT = new Set(
  `page_title page_language preferred_locale page_referrer page_url counter timezone_offset resolution platform do_not_track timezone
   mtc_id mtc_sid tags ct d hit served hit_key left adblock fingerprint`.split(/\s+/),
);
/** The parameter by which a script names what it reports: sent again, it counts once. */
const KEY_PARAMETER = "hit_key";
const OTHERS = "other";
const URL_LENGTH_MAX = 2_048;
const QUERY_MEMBERS_MAX = 100;

/**
 * The names under which it is counted what was left out of a hit: those of its parameters, and one for all others, since anybody may name one. An
 * address that is none of the web is left out, too.
 */
export function namesOfLeftOut(leftOut: ReadonlySet<string>, parameters: Parameters): Set<string> {
  const names = [...leftOut].map((name) =>
    OF_THE_HIT.has(name) || ["body", "query"].includes(name) ? name : OTHERS,
  );
  const url = parameters.get("page_url") ?? "";
  return new Set([...names, ...(url !== "" && addressOf(url) === "" ? ["page_url"] : [])]);
}

export interface HitContext {
  visit: Visit;
  parameters: Parameters;
  prefix: string;
  /** Aliases of the fields of contacts. */
  fields: ReadonlySet<string>;
}

/** The hit of a page that a script or an image on it reports. */
export function pageHit({ visit, parameters, prefix, fields }: HitContext): Hit {
  const text = (name: string) => parameters.get(name) ?? "";
  const url = withoutProofs(addressOf(text("page_url")) || addressOf(visit.referer), prefix);
  const query = queryOf(url, parameters, prefix);
  return {
    ...newFactId(visit.at),
    ...visit,
    key: factKeyOf(parameters.get(KEY_PARAMETER)),
    code: 200,
    url,
    urlTitle: cleanText(text("page_title"), 500),
    referer: withoutProofs(text("page_referrer"), prefix),
    remoteHost: "",
    pageLanguage: cleanText(text("page_language"), 35),
    source: "",
    query,
    utm: utmOf(query),
    timeZone: text("timezone") || visit.place?.timeZone || guessedZone(text("timezone_offset")),
    locale: text("preferred_locale"),
    tags: text("tags"),
    values: valuesOf(parameters, prefix, fields),
  };
}

/** An address on the web; else none. */
export function addressOf(text: string): string {
  const url = text.slice(0, URL_LENGTH_MAX);
  return /^https?:\/\//i.test(url) && URL.canParse(url) ? url : "";
}

/** The parameters of the page's address and those that the page sent, without ids. */
function queryOf(url: string, parameters: Parameters, prefix: string): Record<string, string> {
  const query = new Map<string, string>();
  if (url)
    for (const [name, text] of new URL(url).searchParams) query.set(cleanText(name, 191), cleanText(text));
  for (const [name, text] of parameters)
    if (name !== DEVICE_PARAMETER) query.set(name, withoutProofs(text, prefix));
  const unkept = ["hit", "served", KEY_PARAMETER, "left", "mtc_id", "mtc_sid", CONSENT_PARAMETER];
  for (const name of [...unkept, ...proofNames(prefix)]) query.delete(name);
  return Object.fromEntries([...query].slice(0, QUERY_MEMBERS_MAX));
}

/** How the visitor came, where any `utm_*` is there. */
export function utmOf(query: Record<string, string>): Utm | undefined {
  const text = (name: string) => (Object.hasOwn(query, name) ? (query[name] ?? "").slice(0, 191) : "");
  const utm = {
    campaign: text("utm_campaign"),
    content: text("utm_content"),
    medium: text("utm_medium"),
    source: text("utm_source"),
    term: text("utm_term"),
  };
  return Object.values(utm).some((value) => value !== "") ? utm : undefined;
}

/** Values of fields among the parameters of a request. Which of them everybody may write is decided where they are written. */
export function valuesOf(
  parameters: Parameters,
  prefix: string,
  fields: ReadonlySet<string>,
): Record<string, string> {
  const own = [`${prefix}_device_id`, CONSENT_PARAMETER];
  const entries = [...parameters].filter(
    ([name, text]) => fields.has(name) && text !== "" && !OF_THE_HIT.has(name) && !own.includes(name),
  );
  return Object.fromEntries(entries);
}
