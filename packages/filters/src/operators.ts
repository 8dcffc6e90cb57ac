/** How values of a filter are read and compared. Several options are one text, separated by bars. */
export type ValueKind = "text" | "number" | "boolean" | "date" | "datetime" | "options";

const ANY = "= != empty !empty like !like regexp !regexp startsWith endsWith contains".split(" ");
const ORDER = ["gt", "gte", "lt", "lte", "between", "!between"];
const LISTS = ["in", "!in"];

/** Operators by the kind of the value. */
export const OPERATORS: Record<ValueKind, ReadonlySet<string>> = {
  text: new Set([...ANY, ...LISTS]),
  options: new Set([...ANY, ...LISTS]),
  number: new Set([...ANY, ...ORDER]),
  date: new Set([...ANY, ...ORDER]),
  datetime: new Set([...ANY, ...ORDER]),
  boolean: new Set(["=", "!=", "empty", "!empty"]),
};

/** Operators of types without operators of their own. */
export const DEFAULT_OPERATORS: ReadonlySet<string> = new Set([...ANY, ...ORDER]);
/** Operators of sets of ids. */
export const LIST_OPERATORS: ReadonlySet<string> = new Set([...LISTS, "=", "!=", "empty", "!empty"]);
/** Operators of the id of one entity. */
export const REFERENCE_OPERATORS: ReadonlySet<string> = new Set(["=", "!=", "empty", "!empty"]);

const KINDS = new Map<string, ValueKind>([
  ["number", "number"],
  ["boolean", "boolean"],
  ["date", "date"],
  ["datetime", "datetime"],
  ["multiselect", "options"],
]);

export function kindOf(fieldType: string): ValueKind {
  return KINDS.get(fieldType) ?? "text";
}

const TEXT_TYPES = new Set(
  "text textarea html email url tel lookup select country timezone region locale".split(" "),
);

/** The operators a field of this type offers. */
export function operatorsOf(fieldType: string): ReadonlySet<string> {
  const kind = kindOf(fieldType);
  return kind === "text" && !TEXT_TYPES.has(fieldType) ? DEFAULT_OPERATORS : OPERATORS[kind];
}

/** All operators that there are. */
export const ALL_OPERATORS: ReadonlySet<string> = new Set([...ANY, ...ORDER, ...LISTS]);

/** Operators that take no value. */
export const VALUE_FREE: ReadonlySet<string> = new Set(["empty", "!empty"]);

/** These hold where their counterpart does not, which is also where there is no value. */
const COUNTERPARTS = new Map([
  ["!=", "="],
  ["!like", "like"],
  ["!in", "in"],
  ["!between", "between"],
]);

/** The operator that must not hold, when `operator` is a negative one. */
export function counterpartOf(operator: string): string | undefined {
  return COUNTERPARTS.get(operator);
}
