import { holds, type MemoryValue } from "./compare-in-memory.ts";
import { DO_NOT_CONTACT } from "./do-not-contact.ts";
import { type Filter, FilterProblem } from "./filter.ts";
import { groupsOf } from "./groups.ts";
import { idsOf, listOf } from "./operand.ts";

/** A contact as filters ask about it in memory. */
export interface MatchedContact {
  /** The value of a field or of a column, by the name that filters have for it; undefined when there is no such field. */
  value(name: string): MemoryValue | undefined;
  tagIds: ReadonlySet<number>;
  /** The reason by channel, for channels that the contact does not want or cannot be reached by. */
  doNotContact: ReadonlyMap<string, number>;
  /** The segments that the contact is a member of; absent where they are not known. */
  segmentIds?: ReadonlySet<number>;
}

const DAY_MS = 86_400_000;

/**
 * Does a contact match filters at a moment (milliseconds since the epoch)? The verdict is that of the SQL that segments are made of. Filters on
 * companies, on activities and on fields that contacts do not have cannot be asked of a contact alone: they are skipped (engines.md 6.7). A group without
 * another filter does not match, nor does one with a value that cannot be read. Without filters nobody matches.
 */
export function matches(filters: Filter[], contact: MatchedContact, at: number): boolean {
  const today = at - (((at % DAY_MS) + DAY_MS) % DAY_MS);
  return groupsOf(filters).some((group) => {
    const verdicts = group.map((filter) => verdictOf(filter, contact, today));
    const asked = verdicts.filter((verdict) => verdict !== "skipped");
    return asked.length > 0 && asked.every((verdict) => verdict === true);
  });
}

type Verdict = boolean | "skipped";

function verdictOf(filter: Filter, contact: MatchedContact, today: number): Verdict {
  const { field, object, operator, filter: operand } = filter;
  if (object === "company") return "skipped";
  try {
    if (field === "tags") return hasOf(contact.tagIds, filter);
    if (field === "leadlist") return contact.segmentIds !== undefined && hasOf(contact.segmentIds, filter);
    const blocked = DO_NOT_CONTACT.get(field);
    const value: MemoryValue | undefined = blocked
      ? { kind: "boolean", text: contact.doNotContact.get(blocked.channel) === blocked.reason ? "t" : "f" }
      : contact.value(field);
    return value ? holds(value, operator, operand, today) : "skipped";
  } catch (error) {
    if (!(error instanceof FilterProblem)) throw error;
    return false;
  }
}

function hasOf(ids: ReadonlySet<number>, { operator, filter }: Filter): boolean {
  if (operator === "empty") return ids.size === 0;
  if (operator === "!empty") return ids.size > 0;
  const hasOne = idsOf(listOf(filter)).some((id) => ids.has(id));
  return operator === "!in" || operator === "!=" ? !hasOne : hasOne;
}
