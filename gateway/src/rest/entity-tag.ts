import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Expected, ExpectedEntity } from "@tidings/rpc/expected";
import { badRequest } from "@tidings/rpc/fault";
import { itemId } from "./path-id.ts";

/** `"<version>.<digest>"`, or `"<digest>"` for what has no version (RFC 9110, 8.8.3): the same bytes have the same tag, and no others. */
export function entityTag(body: string, version = 0): string {
  const digest = hash("sha256", body, "base64url").slice(0, DIGEST_LENGTH);
  return version > 0 ? `"${version}.${digest}"` : `"${digest}"`;
}

/** 132 bits. */
const DIGEST_LENGTH = 22;

/** Does `If-None-Match` name the tag (RFC 9110, 13.1.2)? It is compared weakly: a `W/` in front makes no difference. */
export function isNamed({ headers }: IncomingMessage, tag: string): boolean {
  const named = headers["if-none-match"];
  return named !== undefined && (named.trim() === "*" || tagsIn(named, "If-None-Match").includes(tag));
}

const TAG = /(W\/)?("[\x21\x23-\x7e\x80-\xff]{0,255}")/y;
const TAGS_MAX = 100;

/** The tags of a list, without `W/`. Throws INVALID_ARGUMENT for what is no list of tags. */
function tagsIn(text: string, header: string, { isStrong = false } = {}): string[] {
  const tags: string[] = [];
  for (let at = 0; at < text.length; ) {
    TAG.lastIndex = at;
    const [whole, weak, tag] = TAG.exec(text) ?? [];
    if (whole === undefined || tag === undefined || tags.length === TAGS_MAX) throw notTags(header);
    // A weak tag is never the same as another one (RFC 9110, 8.8.3.2).
    if (!weak || !isStrong) tags.push(tag);
    at += whole.length;
    const [separator = ""] = /^[ \t]{0,32}(?:,[ \t]{0,32}|$)/.exec(text.slice(at, at + 66)) ?? [];
    if (separator === "" && at < text.length) throw notTags(header);
    at += separator.length;
  }
  return tags;
}

function notTags(header: string) {
  return badRequest(`${header} is a list of tags in quotes, or *.`);
}

/** The version that a tag names; undefined for a tag of something else. */
function versionIn(tag: string): number | undefined {
  const [, text] = /^"(\d{1,10})\.[\w-]{22}"$/.exec(tag) ?? [];
  const version = Number(text);
  return version <= VERSION_MAX ? version : undefined;
}

const VERSION_MAX = 2 ** 31 - 1;

/** Names no version that any entity has. */
const NO_VERSION = 0;

/** The versions that `If-Match` or `If-None-Match: *` let an entity have; undefined where a change needs none (RFC 9110, 13.1). */
export function expectedEntity(
  /** Undefined where no row can have it. */
  named: number | undefined,
  { ifMatch, ifNoneMatch }: { ifMatch?: string | undefined; ifNoneMatch?: string | undefined },
): ExpectedEntity | undefined {
  // No row has the id 0.
  const id = named ?? 0;
  if (ifMatch !== undefined) {
    if (ifMatch.trim() === "*") return { id, versions: [] };
    const versions = tagsIn(ifMatch, "If-Match", { isStrong: true }).flatMap((tag) => versionIn(tag) ?? []);
    return { id, versions: versions.length > 0 ? versions : [NO_VERSION] };
  }
  return ifNoneMatch?.trim() === "*" ? { id, versions: [], missing: true } : undefined;
}

/** The conditions of the items of a batch, by their ids: their member `If-Match`. */
export function expectedItems(type: string, items: unknown[]): Expected | undefined {
  const entities = items.flatMap((item) => {
    const { id, "If-Match": ifMatch } = (item ?? {}) as { id?: unknown; "If-Match"?: unknown };
    if (ifMatch === undefined) return [];
    if (typeof ifMatch !== "string") throw notTags("If-Match");
    return expectedEntity(itemId(id), { ifMatch }) ?? [];
  });
  return entities.length > 0 ? { type, entities } : undefined;
}
