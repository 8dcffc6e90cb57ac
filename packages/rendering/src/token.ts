import { type DateShift, readDateShift } from "./date-shift.ts";

/** A token whose value the caller looks up: `{pagelink=3}`, `{dynamiccontent="Name"}`, `{pagetitle}`. */
export interface NamedToken {
  name: string;
  argument: string | undefined;
}

export interface ContactFieldToken {
  alias: string;
  /** The value for contacts whose field is empty. */
  fallback: string;
  treatment: "none" | "percent-encode" | "date" | "time" | "datetime";
}

export interface TodayToken {
  /** `date`, `time`, `datetime` or a date format of PHP. */
  format: string;
  shift: DateShift | undefined;
}

export type Token =
  | ({ kind: "contact field" } & ContactFieldToken)
  | ({ kind: "today" } & TodayToken)
  | ({ kind: "named" } & NamedToken);

const ALIAS = /^[\w-]{1,191}$/;
const NAME = /^\w{1,64}/;

/** True when the text between two braces begins with a name that tokens have. */
export function beginsLikeToken(body: string, names: ReadonlySet<string>): boolean {
  const name = NAME.exec(body)?.[0] ?? "";
  return name === "contactfield" || name === "today" || names.has(name);
}

/** Reads the text between the braces of a token; undefined when the text is not a token. */
export function readToken(body: string, names: ReadonlySet<string>): Token | undefined {
  const name = NAME.exec(body)?.[0] ?? "";
  const rest = body.slice(name.length);
  if (name === "contactfield") return readContactField(rest);
  if (name === "today") return readToday(rest);
  if (!names.has(name)) return undefined;
  if (rest === "") return { kind: "named", name, argument: undefined };
  return rest.startsWith("=") ? { kind: "named", name, argument: unquoted(rest.slice(1)) } : undefined;
}

function readContactField(rest: string): Token | undefined {
  if (!rest.startsWith("=")) return undefined;
  const bar = rest.indexOf("|");
  const alias = rest.slice(1, bar < 0 ? undefined : bar);
  if (!ALIAS.test(alias)) return undefined;
  const second = bar < 0 ? "" : rest.slice(bar + 1);
  switch (second) {
    case "true":
      return { kind: "contact field", alias, fallback: "", treatment: "percent-encode" };
    case "date":
    case "time":
    case "datetime":
      return { kind: "contact field", alias, fallback: "", treatment: second };
    default:
      return { kind: "contact field", alias, fallback: second, treatment: "none" };
  }
}

function readToday(rest: string): Token | undefined {
  const [before, format = "date", shiftText, ...more] = rest.split("|");
  if (before !== "" || format === "" || more.length > 0) return undefined;
  if (shiftText === undefined) return { kind: "today", format, shift: undefined };
  const shift = readDateShift(shiftText);
  return shift && { kind: "today", format, shift };
}

function unquoted(argument: string): string {
  const isQuoted = argument.length > 1 && argument.startsWith('"') && argument.endsWith('"');
  return isQuoted ? argument.slice(1, -1) : argument;
}
