import { isNothing, isObject, jsonOf, kept, notValid } from "@tidings/resource/json-member";
import type { Violation } from "@tidings/rpc/fault";
import { withoutTags } from "@tidings/runtime/plain-text";

const NAMES = ["utmSource", "utmMedium", "utmCampaign", "utmContent"];
const LENGTH_MAX = 191;

/** Kept UTM tags as parameters of an address: `utmSource` is `utm_source`. */
export function utmParameters(tags: Uint8Array | undefined): [name: string, value: string][] {
  const sent = jsonOf(tags);
  if (!isObject(sent)) return [];
  return NAMES.flatMap((name): [string, string][] => {
    const value = Object.hasOwn(sent, name) ? sent[name] : undefined;
    return typeof value === "string" && value !== ""
      ? [[name.replace("utm", "utm_").toLowerCase(), value]]
      : [];
  });
}

/** Keeps the known UTM tags of a draft, which have to be texts; removes all other members, in place. */
export function checkUtmTags(draft: { utmTags?: Uint8Array | undefined }): Violation[] {
  const sent = jsonOf(draft.utmTags);
  if (isNothing(sent)) {
    draft.utmTags = kept({});
    return [];
  }
  if (!isObject(sent)) return [notValid("utmTags")];
  const tags: Record<string, string | null> = {};
  for (const name of NAMES) {
    const value = Object.hasOwn(sent, name) ? sent[name] : undefined;
    if (value === undefined) continue;
    if (value !== null && typeof value !== "string") return [notValid(`utmTags.${name}`)];
    if (value !== null && value.length > LENGTH_MAX)
      return [
        notValid(
          `utmTags.${name}`,
          `This value is too long. It should have ${LENGTH_MAX} characters or less.`,
        ),
      ];
    tags[name] = value === null ? null : withoutTags(value);
  }
  draft.utmTags = kept(tags);
  return [];
}
