import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { isTakenWord } from "@tidings/rpc/public-paths";
import { isOpen } from "../family/is-open.ts";
import { rowIdOf } from "../web/row-id.ts";
import { type MailWarning, onceEach, warning } from "./mail-warnings.ts";

export interface LinkSettings {
  database: Database;
  publicUrl: string;
}

/** Schemes that mail programs follow. */
const FOLLOWED = /^(?:https?|ftps?|mailto|tel|sms|geo|webcal):/i;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const WEB = /^https?:/i;
const ASSET_PATH = /^\/asset\/(\d{1,10})(?::[^/]*)?$/;
const SHOWN_LENGTH_MAX = 200;

/** Finds which pages and assets visitors get at the time `$3`. */
const openStatement = prepared(
  "links_open",
  `select 'page ' || p.alias as target from pages p where p.alias = any ($1::text[]) and ${isOpen("p", "$3::timestamptz")}
   union all select 'asset ' || a.id from assets a where a.id = any ($2::integer[]) and ${isOpen("a", "$3::timestamptz")}`,
);

/**
 * Warnings about links that lead nowhere, as far as that can be known without a call: without a target, malformed, of a scheme that mail programs do not
 * follow, or to a page or asset of ours that is not published at the time `at`.
 */
export async function deadLinks(
  urls: string[],
  at: number,
  { database, publicUrl }: LinkSettings,
): Promise<MailWarning[]> {
  const own = urls.flatMap((url) => ownTarget(url, publicUrl) ?? []);
  const open = own.length > 0 ? await openTargets(database, own, at) : new Set<string>();
  const warnings = urls.flatMap((url) => {
    if (url === "" || url === "#") return warning("empty_link", "A link leads nowhere.");
    const target = ownTarget(url, publicUrl);
    const isClosed = target !== undefined && !open.has(`${target.kind} ${target.name}`);
    const reason = isClosed ? `the ${target.kind} is gone or not published` : reasonOf(url);
    return reason ? warning("dead_link", `${url.slice(0, SHOWN_LENGTH_MAX)}: ${reason}.`) : [];
  });
  return onceEach(warnings);
}

function reasonOf(url: string): string | undefined {
  if (url.startsWith("#")) return undefined;
  if (!SCHEME.test(url)) return "the address is not complete: it has no scheme such as https";
  if (!FOLLOWED.test(url)) return "mail programs do not follow links of this scheme";
  return WEB.test(url) && !URL.canParse(url) ? "the address is malformed" : undefined;
}

interface OwnTarget {
  kind: "page" | "asset";
  name: string;
}

/** The page or asset of ours that an address leads to; undefined for any other address. */
function ownTarget(url: string, publicUrl: string): OwnTarget | undefined {
  if (!WEB.test(url) || !URL.canParse(url)) return undefined;
  const { origin, pathname } = new URL(url);
  if (origin !== new URL(publicUrl).origin || pathname === "/") return undefined;
  const assetId = rowIdOf(ASSET_PATH.exec(pathname)?.[1]);
  if (assetId !== undefined) return { kind: "asset", name: String(assetId) };
  const words = pathname.slice(1).split("/");
  if (isTakenWord(words[0] ?? "")) return undefined;
  return { kind: "page", name: decoded(words.at(-1) ?? "") };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // No alias is written so: no page has it.
    return text;
  }
}

async function openTargets(database: Database, own: OwnTarget[], at: number): Promise<Set<string>> {
  const namesOf = (kind: OwnTarget["kind"]) => own.flatMap((one) => (one.kind === kind ? one.name : []));
  const values = [namesOf("page"), namesOf("asset").map(Number), new Date(at).toISOString()];
  const rows = await database.query(openStatement, values, backgroundDeadline());
  return new Set(rows.map(({ target }) => target ?? ""));
}
