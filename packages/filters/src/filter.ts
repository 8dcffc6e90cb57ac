import { isObject, parseJson } from "@tidings/resource/json-member";

/**
 * One filter as it is stored and answered. The first glue of a list has no meaning; `or` begins a group, groups are alternatives, and all
 * filters of a group must hold.
 */
export interface Filter {
  glue: "and" | "or";
  field: string;
  /** `lead`, `company`, or `behaviors` for what a contact did. */
  object: string;
  type: string;
  operator: string;
  filter: FilterValue;
  display: string | null;
  properties: { filter: FilterValue };
}

type Scalar = string | number | boolean;
export type FilterValue = null | Scalar | Scalar[];

/** A mistake in a filter, in words for the caller. `member` is the member of the filter that has it, where it is one. */
export class FilterProblem extends Error {
  readonly member: string | undefined;

  constructor(message: string, member?: string) {
    super(message);
    this.member = member;
  }
}

export const FILTERS_MAX = 100;
const VALUES_MAX = 1_000;
const VALUE_LENGTH_MAX = 1_000;
const NAME_LENGTH_MAX = 191;
const OBJECTS = new Set(["lead", "company", "behaviors"]);

/** Reads the filters of a body: values come at the top level or under `properties`, lists as arrays or keyed objects. */
export function readFilters(json: Uint8Array): Filter[] {
  if (json.length === 0) return [];
  const sent: unknown = parseJson(json);
  if (sent === null || sent === "") return [];
  if (typeof sent !== "object") throw new FilterProblem("The filters must be a list.");
  const items = Object.values(sent);
  if (items.length > FILTERS_MAX) throw new FilterProblem(`At most ${FILTERS_MAX} filters are supported.`);
  return items.map(readFilter);
}

/** Reads one filter of a list. Throws FilterProblem. */
export function readFilter(sent: unknown, index: number): Filter {
  if (!isObject(sent)) throw new FilterProblem(`Filter ${index + 1} is not an object.`);
  const inner = isObject(sent.properties) ? sent.properties : {};
  const filter = readValue(sent.filter ?? inner.filter ?? null);
  const display = readDisplay(sent.display ?? inner.display);
  const object = readName(sent.object ?? "lead", "object");
  if (!OBJECTS.has(object))
    throw new FilterProblem(`"${object}" is not an object that can be filtered.`, "object");
  return {
    glue: readGlue(sent.glue) === "or" && index > 0 ? "or" : "and",
    field: readName(sent.field, "field"),
    object,
    type: readName(sent.type ?? "", "type"),
    operator: readName(sent.operator, "operator"),
    filter,
    display,
    properties: { filter },
  };
}

function readGlue(glue: unknown): string {
  if (glue === undefined || glue === null || glue === "" || glue === "and" || glue === "or")
    return String(glue);
  throw new FilterProblem("The glue of a filter is and or or.", "glue");
}

function readName(value: unknown, member: string): string {
  if (typeof value === "string" && value.length <= NAME_LENGTH_MAX) return value;
  throw new FilterProblem(`A filter needs a text as its ${member}.`, member);
}

function readDisplay(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value.slice(0, NAME_LENGTH_MAX) : null;
}

function readValue(value: unknown): FilterValue {
  if (value === null) return null;
  if (typeof value !== "object") return readScalar(value);
  const values = Object.values(value);
  if (values.length > VALUES_MAX) throw new FilterProblem(`A filter may have ${VALUES_MAX} values.`);
  return values.map(readScalar);
}

function readScalar(value: unknown): Scalar {
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (typeof value !== "string")
    throw new FilterProblem("The value of a filter is a text, a number or a list.");
  if (value.includes("\0") || !value.isWellFormed()) throw new FilterProblem("A value is not a text.");
  if (value.length > VALUE_LENGTH_MAX)
    throw new FilterProblem(`The value of a filter may have ${VALUE_LENGTH_MAX} characters.`);
  return value;
}

/** The filters of a segment or another entity, as they are stored. */
export function filtersOf({ filters }: { filters: Uint8Array }): Filter[] {
  return filters.length === 0 ? [] : parseJson(filters);
}

/** The ids of segments that filters name. */
export function namedIn(filters: Filter[]): number[] {
  return filters.flatMap(({ field, filter }) =>
    field === "leadlist" && Array.isArray(filter) ? filter.map(Number) : [],
  );
}
