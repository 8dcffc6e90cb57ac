import { dateTimeText } from "@tidings/database/timestamp";
import { parseJson } from "@tidings/resource/json-member";
import { NOT_VALID, type Violation } from "@tidings/rpc/fault";
import { parseDateText } from "@tidings/runtime/date-text";
import { textOf, wholeNumberOf } from "@tidings/runtime/plain-text";
import { isoTime } from "../field/value.ts";

/** Rules to set, by channel, in the form the API shows them. */
export type FrequencyRuleChanges = Record<string, Record<string, unknown>>;

const CHANNELS = ["email", "sms", "notification", "mobile_notification", "tweet"];
const UNITS = ["DAY", "WEEK", "MONTH"];
const VIOLATION = { field: "frequencyRules", message: NOT_VALID };

/** Reads `frequencyRules: {"email": {"frequency_number": 3, "frequency_time": "DAY", ...}}`. */
export function readFrequencyRules(json: Uint8Array, violations: Violation[]): FrequencyRuleChanges {
  if (json.length === 0) return {};
  const input: unknown = parseJson(json);
  if (input === null) return {};
  const rules: FrequencyRuleChanges = {};
  const entries = input !== null && typeof input === "object" ? Object.entries(input) : [["", input]];
  for (const [channel, rule] of entries as [string, unknown][]) {
    const read = CHANNELS.includes(channel) ? readRule(channel, rule) : undefined;
    if (read) rules[channel] = read;
    else if (!violations.includes(VIOLATION)) violations.push(VIOLATION);
  }
  return rules;
}

function readRule(channel: string, rule: unknown): Record<string, unknown> | undefined {
  if (rule === null || typeof rule !== "object") return undefined;
  const sent = rule as Record<string, unknown>;
  const number = (sent.frequency_number ?? "") === "" ? null : wholeNumberOf(sent.frequency_number);
  const unit = sent.frequency_time ?? null;
  const from = dateOrNull(sent.pause_from_date);
  const to = dateOrNull(sent.pause_to_date);
  const isUsable =
    number !== undefined &&
    (number === null || (number >= 0 && number < 2 ** 31)) &&
    (unit === null || UNITS.includes(textOf(unit) ?? "")) &&
    from !== undefined &&
    to !== undefined;
  if (!isUsable) return undefined;
  return {
    channel,
    frequencyNumber: number,
    frequencyTime: unit,
    preferredChannel: ["1", "true"].includes(textOf(sent.preferred_channel) ?? ""),
    pauseFromDate: from,
    pauseToDate: to,
  };
}

/** undefined: not a date. */
function dateOrNull(input: unknown): string | null | undefined {
  if (input === null || input === undefined || input === "") return null;
  const milliseconds = typeof input === "string" ? parseDateText(input) : undefined;
  return milliseconds === undefined ? undefined : isoTime(dateTimeText(milliseconds));
}
