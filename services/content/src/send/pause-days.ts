import { instantOf, knownTimeZone, zonedTime } from "@tidings/rendering/zoned-time";

const DAY_MS = 86_400_000;
const DAY_LENGTH = "2026-12-24".length;
/** The last second that a rule can have. */
const LATEST = Date.UTC(10_000, 0, 1) - 1_000;

/** A rule in the form that a contact's body has it. The days of a pause are yet to become moments. */
export interface ChosenRule {
  frequency_number: string;
  frequency_time: string | null;
  preferred_channel: boolean;
  pause_from_date: string;
  pause_to_date: string;
}

/**
 * Rules whose pauses are moments: from the first second of the first day to the last second of the last one, as clocks in the time zone of the contact
 * show them. A day has 23 or 25 hours where they change, and may begin at one o'clock.
 */
export function withPausesIn(
  rules: Record<string, ChosenRule>,
  timeZone: string,
): Record<string, ChosenRule> {
  const zone = knownTimeZone(timeZone || "UTC");
  const beginningOf = (text: string, days: number) =>
    instantOf(Date.parse(text.slice(0, DAY_LENGTH)) + days * DAY_MS, zone);
  const moment = (ms: number) => new Date(Math.min(ms, LATEST)).toISOString();
  return Object.fromEntries(
    Object.entries(rules).map(([channel, rule]) => {
      const { pause_from_date: from, pause_to_date: to } = rule;
      const pause = {
        pause_from_date: from && moment(beginningOf(from, 0)),
        pause_to_date: to && moment(beginningOf(to, 1) - 1_000),
      };
      return [channel, { ...rule, ...pause }];
    }),
  );
}

/** The day of a moment in the time zone of the contact; empty for none. */
export function dayOfPause(text: string | null | undefined, timeZone: string): string {
  if (!text) return "";
  const { local } = zonedTime(Date.parse(text), knownTimeZone(timeZone || "UTC"));
  return new Date(Math.min(local.getTime(), LATEST)).toISOString().slice(0, DAY_LENGTH);
}
