import { entriesOf, readId } from "./json.ts";

/** What a property has to be: what is wrong with a value that is there. */
export type Kind = (value: unknown) => string | undefined;

const TEXT_LENGTH_MAX = 10_000;
const LIST_LENGTH_MAX = 1_000;

const kind =
  (isFit: (value: unknown) => boolean, message: string): Kind =>
  (value) =>
    isFit(value) ? undefined : message;

const textOf = (value: unknown) =>
  typeof value === "number" || typeof value === "string" ? String(value).trim() : undefined;
const numberOf = (value: unknown) => {
  const written = textOf(value);
  return written === undefined || written === "" || written.length > 30 ? Number.NaN : Number(written);
};

export const id = kind((value) => readId(value) !== undefined, "This is not an id.");
export const integer = kind((value) => {
  const whole = numberOf(value);
  return Number.isInteger(whole) && Math.abs(whole) < 2 ** 31;
}, "This is not a whole number.");
export const number = kind((value) => Number.isFinite(numberOf(value)), "This is not a number.");
export const text = kind(
  (value) => (textOf(value)?.length ?? TEXT_LENGTH_MAX + 1) <= TEXT_LENGTH_MAX,
  "This is not a text, or too long.",
);
export const flag = kind(
  (value) => [true, false, 1, 0, "1", "0", "true", "false"].includes(value as never),
  "This is not true or false.",
);
export const map = kind((value) => typeof value === "object", "This is not an object.");
export const idOrThis = kind(
  (value) => value === "this" || readId(value) !== undefined,
  'This is neither an id nor "this".',
);

export function choice(...values: string[]): Kind {
  return kind((value) => values.includes(textOf(value) ?? ""), `This is not one of ${values.join(", ")}.`);
}

/** A list of such, or a single one. */
export function listOf(each: Kind): Kind {
  return (value) => {
    const entries = entriesOf(value);
    if (entries.length > LIST_LENGTH_MAX) return `At most ${LIST_LENGTH_MAX} entries are supported.`;
    for (const entry of entries) {
      const problem = each(entry);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
}

export const ids = listOf(id);

/** May hold tokens, so that only the beginning can be judged. */
export const url = kind(
  (value) => /^(https?:\/\/|\{)/i.test(textOf(value) ?? "") && (textOf(value)?.length ?? 0) <= 2_048,
  "This is not an address of the web.",
);
