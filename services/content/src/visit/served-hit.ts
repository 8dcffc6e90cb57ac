import { createHash } from "node:crypto";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { CATEGORY_JSON } from "@tidings/resource/category-reference";
import type { PublicTokens } from "@tidings/secrets/public-token";
import { deviceFrom } from "./device-id.ts";
import { type Hit, timeOfId } from "./hit.ts";
import { deviceOfHit } from "./hit-device.ts";
import type { Parameters } from "./parameters.ts";

/** The hit of a landing page, which was counted while the page was served. A signed token names it to the script on the page. */
export interface ServedHit {
  id: string;
  /** The page, where nothing but its counters knows the visit: the visitor was not to be known. */
  pageId?: number | undefined;
}

/** The parameters by which a script on a landing page names its hit: where it completes the hit, and with all later reports. */
export const HIT_PARAMETER = "hit";
export const SERVED_PARAMETER = "served";

export function signServed(tokens: PublicTokens, { id, device, verdict, pageId }: Hit): string {
  const isUnknown = device === undefined && verdict !== "machine" && pageId !== undefined;
  return tokens.sign(isUnknown ? `${id} ${pageId}` : id);
}

/** The hit that the script on a landing page completes, or reports of; undefined where none is named that we signed. */
export function readServed(tokens: PublicTokens, parameters: Parameters): ServedHit | undefined {
  const [id = "", pageId] = tokens.read(parameters.get(HIT_PARAMETER) ?? "")?.split(" ") ?? [];
  return id === "" ? undefined : { id, ...(pageId && { pageId: Number(pageId) }) };
}

/** The browser of the landing page that a script reports from. Pages in a sandbox keep no id, and send no cookie. */
export async function deviceOfPage(
  database: Database,
  tokens: PublicTokens,
  parameters: Parameters,
): Promise<string | undefined> {
  const token = parameters.get(HIT_PARAMETER) ?? parameters.get(SERVED_PARAMETER) ?? "";
  const [id] = tokens.read(token)?.split(" ") ?? [];
  return id === undefined ? undefined : deviceOfHit(database, id);
}

const pageStatement = prepared(
  "pages_of_served_hit",
  `select p.title, p.alias, p.language, p.variant_parent_id,
     (select ${CATEGORY_JSON} from categories where id = p.category_id) as category_shown
   from pages p where p.id = $1`,
);
/** A page that was served longer ago begins no visit. */
const DAY_MS = 86_400_000;

/**
 * The visit of a page whose visitor agrees afterwards to be recognised: of the time at which the page was served, with a device of its own. The same
 * whenever it is asked for, so that it is recorded once. Undefined where the page is gone, or was served too long ago.
 */
export async function beginServed(
  database: Database,
  { id, pageId }: ServedHit,
  { token, said }: { token: string; said: Hit },
): Promise<Hit | undefined> {
  const at = timeOfId(id).getTime();
  if (pageId === undefined || said.at - at > DAY_MS) return undefined;
  const [page] = await database.query(pageStatement, [pageId], backgroundDeadline());
  if (!page) return undefined;
  return {
    ...said,
    ...{ id, at, pageId, isCounted: true },
    device: said.device?.isNew
      ? { id: deviceFrom(createHash("sha256").update(token).digest()), isNew: false }
      : said.device,
    variantParentId: page.variant_parent_id ? Number(page.variant_parent_id) : undefined,
    page: { title: page.title ?? "", alias: page.alias ?? "", category: page.category_shown ?? "null" },
    urlTitle: page.title ?? "",
    pageLanguage: page.language ?? "en",
  };
}
