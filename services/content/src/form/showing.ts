import { createHash } from "node:crypto";
import type { PublicTokens } from "@tidings/secrets/public-token";

/** The member of a form that says when and to which browser it was shown, signed. */
export const SHOWN_AT = "shown-at";

/** A form as it was shown. */
export interface Showing {
  formId: number;
  /** Milliseconds since 1970. */
  at: number;
  /** The browser, where that may be known. */
  deviceId?: string | undefined;
  /** Ids of the fields that profiling left out. */
  hidden?: ReadonlySet<number> | undefined;
}

interface Signing {
  shownAt: PublicTokens;
}

const DIGEST_LENGTH = 16;
/** A token has 2,048 characters at most. */
const HIDDEN_LENGTH_MAX = 1_200;

export function signShown({ formId, at, deviceId, hidden }: Showing, { shownAt }: Signing): string {
  const ids = hidden && [...hidden].join(",");
  const isSaid = deviceId !== undefined && ids !== undefined && ids.length <= HIDDEN_LENGTH_MAX;
  return shownAt.sign([formId, at, ...(isSaid ? [digestOf(deviceId), ids] : [])].join(" "));
}

/**
 * Reads when this form was shown, and without which fields where that was to this browser: undefined for a token of another form. The fields are not
 * said to another browser, and not where the form was shown to nobody in particular.
 */
export function readShown(
  token: string,
  { formId, deviceId }: Pick<Showing, "formId" | "deviceId">,
  { shownAt }: Signing,
): Pick<Showing, "at" | "hidden"> | undefined {
  const [id, at, shownTo, ids = ""] = (shownAt.read(token) ?? "").split(" ");
  if (Number(id) !== formId) return undefined;
  const isTheirs = deviceId !== undefined && shownTo === digestOf(deviceId);
  const list = ids.split(",").filter((text) => text !== "");
  return { at: Number(at), hidden: isTheirs ? new Set(list.map(Number)) : undefined };
}

/** Scripts of the page can read a token: the id of the device is a secret of its browser. */
function digestOf(deviceId: string): string {
  return createHash("sha256").update(deviceId).digest("hex").slice(0, DIGEST_LENGTH);
}
