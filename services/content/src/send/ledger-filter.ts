import { notValid } from "@tidings/resource/json-member";
import { invalid } from "@tidings/rpc/fault";
import { DATE_FORMS, parseDateText } from "@tidings/runtime/date-text";

/** Which sends of a ledger are meant, as callers say it; empty members say nothing. */
export interface AskedFilter {
  occasion: string;
  code: number;
  /** When they were chosen: at this moment or later, and before that one. */
  from: string;
  to: string;
}

/** The same, as statements take it: null where anything is meant. */
export interface LedgerFilter extends Record<string, unknown> {
  occasion: string | null;
  code: number | null;
  from: string | null;
  to: string | null;
}

const OCCASION_LENGTH_MAX = 255;
/** The largest number of a code's column. */
const CODE_MAX = 32_767;

/** Reads a filter. Throws INVALID_ARGUMENT that names the member. */
export function readFilter({ occasion, code, from, to }: AskedFilter): LedgerFilter {
  if (occasion.length > OCCASION_LENGTH_MAX || occasion.includes("\0"))
    throw invalid([notValid("occasion", `It has at most ${OCCASION_LENGTH_MAX} characters.`)]);
  if (code > CODE_MAX) throw invalid([notValid("code", `It is a code, to ${CODE_MAX}.`)]);
  return {
    ...{ occasion: occasion || null, code: code || null },
    ...{ from: readMoment("from", from), to: readMoment("to", to) },
  };
}

function readMoment(field: string, text: string): string | null {
  if (text === "") return null;
  const milliseconds = parseDateText(text);
  if (milliseconds === undefined) throw invalid([notValid(field, DATE_FORMS)]);
  return new Date(milliseconds).toISOString();
}

/** SQL: is the row `s` one of those of a filter, whose values are the parameters from this number on? */
export function isFiltered(first: number): string {
  const [occasion, code, from, to] = [0, 1, 2, 3].map((index) => `$${first + index}`);
  return `(${occasion}::text is null or s.occasion = ${occasion}) and (${code}::smallint is null or s.code = ${code}::smallint)
    and (${from}::timestamptz is null or s.date_queued >= ${from}::timestamptz) and (${to}::timestamptz is null or s.date_queued < ${to}::timestamptz)`;
}

export function filterValues({ occasion, code, from, to }: LedgerFilter): unknown[] {
  // A job of a version before this one has a code alone.
  return [occasion, code, from, to].map((value) => value ?? null);
}
