import { parseJson } from "@tidings/resource/json-member";
import { badRequest, type Fault, invalid, NOT_VALID, type Violation } from "@tidings/rpc/fault";
import { textOf, wholeNumberOf } from "@tidings/runtime/plain-text";
import type { DoNotContactEntry } from "../rows/contact.ts";

const REASONS = { contactable: 0, unsubscribed: 1, bounced: 2, manual: 3 } as const;

/** The change of one channel that a body asks for; reason 0 lifts the entry. */
export interface DoNotContactChange {
  channel: string;
  reason: number;
  comments: string;
  channelId: number | null;
}

const CHANNEL = /^[a-z][a-z_]{0,49}$/i;
const COMMENTS_LENGTH_MAX = 5_000;
const CHANGES_MAX = 20;

/** Reads `doNotContact: [{channel, reason, comments, channelId}]`; channel email and reason 3 when not given. */
export function readDoNotContact(json: Uint8Array, violations: Violation[]): DoNotContactChange[] {
  if (json.length === 0) return [];
  const input: unknown = parseJson(json);
  if (input === null) return [];
  const items = input !== null && typeof input === "object" ? Object.values(input) : undefined;
  const changes = items?.slice(0, CHANGES_MAX).map(readEntry);
  if (!changes || items === undefined || items.length > CHANGES_MAX || changes.includes(undefined)) {
    violations.push({ field: "doNotContact", message: NOT_VALID });
    return [];
  }
  return changes as DoNotContactChange[];
}

function readEntry(item: unknown): DoNotContactChange | undefined {
  if (item === null || typeof item !== "object") return undefined;
  const { channel = "email", reason = REASONS.manual, comments, channelId } = item as Record<string, unknown>;
  const code = wholeNumberOf(reason);
  const entity =
    channelId === undefined || channelId === null || channelId === "" ? null : wholeNumberOf(channelId);
  const note = comments === undefined || comments === null ? "" : textOf(comments);
  const isUsable =
    typeof channel === "string" &&
    CHANNEL.test(channel) &&
    code !== undefined &&
    Object.values<number>(REASONS).includes(code) &&
    note !== undefined &&
    entity !== undefined &&
    (entity === null || (entity >= 0 && entity < 2 ** 31));
  if (!isUsable) return undefined;
  return { channel, reason: code, comments: note.slice(0, COMMENTS_LENGTH_MAX), channelId: entity };
}

/** Reads the body of an addition to the channel of the path; the reason is 3 when not given. */
export function readAddition(channel: string, sent: Record<string, unknown>): DoNotContactChange | Fault {
  const { reason = REASONS.manual, comments, channelId } = sent;
  if (!((wholeNumberOf(reason) ?? 0) > REASONS.contactable))
    return badRequest("Invalid reason code given", "Reason code needs to be an integer and higher than 0.");
  const entry = readEntry({ channel, reason, comments, channelId });
  return entry ?? invalid([{ field: "doNotContact", message: NOT_VALID }]);
}

/**
 * Applies a change to a channel's entry. The same reason changes nothing; what the contact asked for itself
 * (unsubscribed) is not overwritten by anything but a removal.
 */
export function applyDoNotContact(
  before: DoNotContactEntry | undefined,
  change: DoNotContactChange,
  now: string,
  nextId: () => number,
): DoNotContactEntry | undefined {
  if (change.reason === REASONS.contactable) return undefined;
  if (before && (before.reason === change.reason || before.reason === REASONS.unsubscribed)) return before;
  const { reason, comments, channelId } = change;
  return { id: before?.id ?? nextId(), dateAdded: now, reason, comments, channelId };
}

const STATUSES = ["contactable", "unsubscribed", "bounced", "manual"];

/** The status of an entry, as events of its change name it. */
export function statusOf(entry: DoNotContactEntry | undefined): string {
  return STATUSES[entry?.reason ?? REASONS.contactable] ?? "manual";
}
