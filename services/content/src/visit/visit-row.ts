import { jsonBytes } from "@tidings/resource/json-member";
import { type FactRow, factReader } from "./fact-kind.ts";
import type { VisitFact } from "./visit-fact.ts";

/** The columns that facts of all kinds about seen pages have in common. */
export const VISIT_COLUMNS = {
  ip: "text",
  country: "text",
  region: "text",
  city: "text",
  isp: "text",
  organization: "text",
  code: "integer",
  referer: "text",
  url: "text",
  user_agent: "text",
  remote_host: "text",
  page_language: "text",
  browser_languages: "jsonb",
  /** The random id by which the browser is known. */
  tracking_id: "text",
  query: "jsonb",
  verdict: "text",
  verdict_reason: "text",
} as const;

/** A fact with what a page says of itself. */
export interface PageFact extends VisitFact {
  pageLanguage: string;
  browserLanguages: string[];
}

/** The values of these columns. */
export function visitRow(fact: PageFact) {
  return {
    ip: fact.ip || null,
    country: fact.place?.country || null,
    region: fact.place?.region || null,
    city: fact.place?.city || null,
    isp: fact.place?.isp || null,
    organization: fact.place?.organization || null,
    code: fact.code,
    referer: fact.referer || null,
    url: fact.url || null,
    user_agent: fact.userAgent || null,
    remote_host: fact.remoteHost || null,
    page_language: fact.pageLanguage || null,
    browser_languages: fact.browserLanguages,
    tracking_id: fact.device?.id ?? null,
    query: fact.query,
    verdict: fact.verdict,
    verdict_reason: fact.reason || null,
  } satisfies Record<keyof typeof VISIT_COLUMNS, unknown>;
}

/** The members of an event for these columns, from a new row or from one that the database has. */
export function visitMembers(row: FactRow) {
  const { text, number, texts, value } = factReader(row);
  const query = value("query") ?? {};
  return {
    ip: text("ip"),
    country: text("country"),
    region: text("region"),
    city: text("city"),
    isp: text("isp"),
    organization: text("organization"),
    code: number("code"),
    referer: text("referer"),
    url: text("url"),
    userAgent: text("user_agent"),
    remoteHost: text("remote_host"),
    pageLanguage: text("page_language"),
    browserLanguages: texts("browser_languages"),
    deviceId: text("tracking_id"),
    query: typeof query === "string" ? Buffer.from(query) : jsonBytes(query),
    verdict: text("verdict"),
    verdictReason: text("verdict_reason"),
  };
}
