import { type ChosenRule, dayOfPause } from "./pause-days.ts";

/** The word for a number of messages in a day, week or month, as frequency rules have it. */
export const UNITS = ["DAY", "WEEK", "MONTH"] as const;
export const CHANNELS = ["email", "sms"] as const;
export type Channel = (typeof CHANNELS)[number];

/** The choices of a contact for a channel, as the form has them: empty texts are no choice. */
export interface ChannelChoice {
  number: string;
  unit: string;
  /** Days, as 2026-12-24. */
  pauseFrom: string;
  pauseTo: string;
}

/** All that a contact says by the form of a preference centre. */
export interface Choices {
  channels: Partial<Record<Channel, ChannelChoice>>;
  preferred: Channel | "";
  segments: Chosen;
  categories: Chosen;
}

/** The ids that the form showed, and those of them that were chosen. Nobody believes them. */
export interface Chosen {
  shown: number[];
  chosen: number[];
}

const NUMBER_MAX = 1_000;
const IDS_MAX = 100;
const DAY = /^\d{4}-\d\d-\d\d$/;

export type ReadChoices = { choices: Choices; problems: ReadonlyMap<string, string> };

/** Reads the form. The problems are sentences, by the names of inputs. */
export function readChoices(form: URLSearchParams): ReadChoices {
  const problems = new Map<string, string>();
  const text = (name: string) => (form.get(name) ?? "").trim().slice(0, 50);
  const channels: Choices["channels"] = {};
  for (const channel of CHANNELS) {
    if (!form.has(`${channel}_number`)) continue;
    const [number, unit] = [text(`${channel}_number`), text(`${channel}_unit`) || "DAY"];
    const [pauseFrom, pauseTo] = [text(`${channel}_pause_from`), text(`${channel}_pause_to`)];
    channels[channel] = { number, unit, pauseFrom, pauseTo };
    if (number !== "" && !(/^\d{1,4}$/.test(number) && Number(number) >= 1 && Number(number) <= NUMBER_MAX))
      problems.set(`${channel}_number`, `Please enter a whole number from 1 to ${NUMBER_MAX}, or nothing.`);
    if (!(UNITS as readonly string[]).includes(unit))
      problems.set(`${channel}_unit`, "Please choose a day, a week or a month.");
    for (const [name, day] of Object.entries({ pause_from: pauseFrom, pause_to: pauseTo }))
      if (day !== "" && !isDay(day)) problems.set(`${channel}_${name}`, "Please enter a date.");
    if ((pauseFrom === "") !== (pauseTo === ""))
      problems.set(`${channel}_pause_${pauseFrom === "" ? "from" : "to"}`, "A pause has two dates.");
    else if (pauseFrom > pauseTo)
      problems.set(`${channel}_pause_to`, "The end of a pause is not before its beginning.");
  }
  const preferred = CHANNELS.find((channel) => channel === form.get("preferred")) ?? "";
  const chosen = (name: string) => ({ shown: idsOf(form, `${name}_shown`), chosen: idsOf(form, name) });
  return {
    choices: { channels, preferred, segments: chosen("segment"), categories: chosen("category") },
    problems,
  };
}

function isDay(text: string): boolean {
  const at = DAY.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // The 31st of a short month would be another day.
  return Number.isFinite(at) && new Date(at).toISOString().startsWith(text) && text >= "1000";
}

function idsOf(form: URLSearchParams, name: string): number[] {
  const ids = form
    .getAll(name)
    .slice(0, IDS_MAX)
    .filter((text) => /^[1-9]\d{0,8}$/.test(text))
    .map(Number);
  return [...new Set(ids)];
}

/** Rules by channel, whose pauses are days. */
export function rulesOf({ channels, preferred }: Choices): Record<string, ChosenRule> {
  return Object.fromEntries(
    Object.entries(channels).map(([channel, { number, unit, pauseFrom, pauseTo }]) => [
      channel,
      {
        frequency_number: number,
        frequency_time: number === "" ? null : unit,
        preferred_channel: channel === preferred,
        pause_from_date: pauseFrom,
        // The last day is a part of the pause.
        pause_to_date: pauseTo === "" ? "" : `${pauseTo} 23:59:59`,
      },
    ]),
  );
}

/** The choices that stored rules are, for a contact in a time zone. */
export function channelsOf(
  rules: Record<string, StoredRule>,
  channels: readonly Channel[],
  timeZone: string,
) {
  const preferred = channels.find((channel) => rules[channel]?.preferredChannel) ?? ("" as const);
  const choices = channels.map((channel) => {
    const rule = rules[channel] ?? {};
    const choice: ChannelChoice = {
      number: String(rule.frequencyNumber ?? ""),
      unit: rule.frequencyTime ?? "DAY",
      pauseFrom: dayOfPause(rule.pauseFromDate, timeZone),
      pauseTo: dayOfPause(rule.pauseToDate, timeZone),
    };
    return [channel, choice] as const;
  });
  return { channels: Object.fromEntries(choices) as Choices["channels"], preferred };
}

export interface StoredRule {
  frequencyNumber?: number | null;
  frequencyTime?: string | null;
  preferredChannel?: boolean;
  pauseFromDate?: string | null;
  pauseToDate?: string | null;
}
