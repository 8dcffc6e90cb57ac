import { type RawBuilder, sql } from "kysely";
import type { FieldCatalogue } from "../field/catalogue.ts";
import { type Comparison, listOf, type Predicate } from "./compare.ts";
import { type Filter, FilterProblem, type FilterValue } from "./filter.ts";
import { findSubject } from "./find-subject.ts";
import { idsOf, type Subject, setSubject } from "./subject.ts";

/** What filters are read against. */
export interface Scope {
  catalogue: FieldCatalogue;
  /** All segments by id, for those that name others. */
  segments: ReadonlyMap<number, NamedFilters>;
  /** The id of the segment itself, when it has one. */
  segmentId: number | undefined;
  /** Midnight in UTC, in milliseconds since the epoch. */
  today: number;
  /** May whoever asks name this segment? Anybody's may be where nobody asks. */
  mayName?(id: number): boolean;
}

export interface NamedFilters {
  id: number;
  filters: Filter[];
}

/** Filters as SQL over the contact `c`. */
export interface Compiled extends Comparison {
  /** What has to change for the result to change. */
  reads: ReadonlySet<string>;
}

const DEPTH_MAX = 10;
/** Filters of a segment and of all it names, each time it names them. */
const SIZE_MAX = 500;

/** Compiles filters to one predicate; undefined when there are none. Throws FilterProblem. */
export function compileFilters(filters: Filter[], scope: Scope): Compiled | undefined {
  return compileAll(filters, nestingOf(scope));
}

interface Nesting extends Scope {
  /** The segments we are in. */
  path: number[];
  size: { left: number };
}

function nestingOf(scope: Scope): Nesting {
  return { ...scope, path: scope.segmentId ? [scope.segmentId] : [], size: { left: SIZE_MAX } };
}

function compileAll(filters: Filter[], nesting: Nesting): Compiled | undefined {
  if (filters.length === 0) return undefined;
  nesting.size.left -= filters.length;
  if (nesting.size.left < 0) throw new FilterProblem("The segments it names have too many filters.");
  const reads = new Set<string>();
  let isDaily = false;
  const groups = groupsOf(withListsMerged(filters)).map((group) => {
    const parts = group.map((filter) => {
      const subject = subjectOf(filter, nesting);
      const compiled = compileOne(filter, subject, nesting.today);
      for (const name of subject.reads) reads.add(name);
      isDaily ||= compiled.isDaily;
      return compiled.predicate;
    });
    return sql`(${sql.join(parts, sql` and `)})`;
  });
  return { predicate: sql`(${sql.join(groups, sql` or `)})`, isDaily, reads };
}

/** The filters in the form they are stored. Throws FilterProblem when one of them cannot be. */
export function checkFilters(filters: Filter[], scope: Scope): Filter[] {
  compileFilters(filters, scope);
  const nesting = nestingOf(scope);
  return filters.map((filter) => {
    checkShape(filter);
    const isOfSegments = filter.field === "leadlist" && !VALUE_FREE.has(filter.operator);
    const value = isOfSegments ? idsOf(listOf(filter.filter)) : filter.filter;
    const type = filter.type || subjectOf(filter, nesting).type;
    return { ...filter, type, filter: value, properties: { filter: value } };
  });
}

/** Operators that take no value. */
const VALUE_FREE = new Set(["empty", "!empty"]);

/** What clients call what they filter by: the types of fields, and those of what is none. */
const TYPES = new Set(
  `boolean date datetime email country locale lookup number tel region select multiselect text textarea time timezone
   url html default leadlist tags stage lookup_id campaign globalcategory lead_email_received lead_asset_download
   device_type device_brand device_os device_model assets`.split(/\s+/),
);

/** What is only asked of filters that are made now: older ones without a value mean those that have none. */
function checkShape({ field, type, operator, filter }: Filter): void {
  if (type !== "" && !TYPES.has(type))
    throw new FilterProblem(`${field}: "${type.slice(0, 50)}" is not a type of filter.`);
  const isBlank = filter === null || filter === "" || (Array.isArray(filter) && filter.length === 0);
  if (isBlank && !VALUE_FREE.has(operator))
    throw new FilterProblem(`${field}: the operator "${operator.slice(0, 20)}" needs a value.`);
}

/** Each filter by itself, with what it compares: for whoever asks why. */
export function compileEach(
  filters: Filter[],
  scope: Scope,
): { predicate: Predicate; left: RawBuilder<unknown> }[] {
  const nesting = nestingOf(scope);
  return filters.map((filter) => {
    const subject = subjectOf(filter, nesting);
    const { predicate } = compileOne(filter, subject, scope.today);
    return { predicate, left: subject.left };
  });
}

/** The first glue does not count; an `or` begins a group, whose members must all hold. */
function groupsOf(filters: Filter[]): Filter[][] {
  const groups: Filter[][] = [];
  for (const filter of filters) {
    const group = groups.at(-1);
    if (!group || filter.glue === "or") groups.push([filter]);
    else group.push(filter);
  }
  return groups;
}

/** `or city = Rome, or city = Oslo` is one list, so that what follows holds for both. */
function withListsMerged(filters: Filter[]): Filter[] {
  const merged: Filter[] = [];
  for (const filter of filters) {
    const last = merged.at(-1);
    if (last && isAlternative(filter) && isAlternative(last) && isSameField(filter, last))
      merged[merged.length - 1] = { ...last, filter: [...valuesOf(last.filter), ...valuesOf(filter.filter)] };
    else merged.push(filter);
  }
  return merged;
}

function isAlternative({ glue, operator, filter }: Filter): boolean {
  return glue === "or" && operator === "=" && filter !== null && filter !== "";
}

function isSameField(one: Filter, other: Filter): boolean {
  return one.field === other.field && one.object === other.object;
}

function valuesOf(value: FilterValue) {
  return Array.isArray(value) ? value : value === null ? [] : [value];
}

function subjectOf(filter: Filter, nesting: Nesting): Subject {
  const { field, object } = filter;
  const subject =
    field === "leadlist" && object !== "company"
      ? segmentsSubject(nesting)
      : findSubject(field, object, nesting.catalogue);
  if (!subject) throw new FilterProblem(`"${field.slice(0, 50)}" is not a field that can be filtered.`);
  return subject;
}

function compileOne({ field, operator, filter }: Filter, subject: Subject, today: number): Comparison {
  if (!subject.operators.has(operator))
    throw new FilterProblem(`"${operator.slice(0, 20)}" is not an operator of ${field}.`);
  try {
    return subject.compare(operator, filter, today);
  } catch (error) {
    throw error instanceof FilterProblem ? new FilterProblem(`${field}: ${error.message}`) : error;
  }
}

/** Whoever meets the definition of another segment: what was done by hand counts, when its members were found does not. */
function segmentsSubject(nesting: Nesting): Subject {
  const reads: string[] = [MEMBERSHIP];
  let isDaily = false;
  const own = nesting.segmentId ?? 0;
  const memberships = sql`segment_contacts m where m.contact_id = c.id and not m.manually_removed
    and m.segment_id <> ${sql.lit(own)}`;
  const shown = nesting.mayName && [...nesting.segments.keys()].filter(nesting.mayName);
  const shownMemberships = shown
    ? sql`${memberships} and m.segment_id = any(${shown}::integer[])`
    : memberships;
  const subject = setSubject({
    type: "leadlist",
    reads,
    hasOne(texts) {
      reads.length = 0;
      const definitions = idsOf(texts).map((id) => definitionOf(id, nesting));
      isDaily = definitions.some((definition) => definition.isDaily);
      reads.push(...definitions.flatMap((definition) => [...definition.reads]));
      return sql`(${sql.join(
        definitions.map(({ predicate }) => predicate),
        sql` or `,
      )})`;
    },
    hasAny: sql`exists (select from ${memberships})`,
    left: sql`(select coalesce(json_agg(m.segment_id order by m.segment_id), '[]') from ${shownMemberships})`,
  });
  const compare: Subject["compare"] = (operator, operand, today) => {
    const { predicate } = subject.compare(operator, operand, today);
    return { predicate, isDaily };
  };
  return { ...subject, compare };
}

/** Every membership is read: by `empty`, which asks for any segment at all. */
export const MEMBERSHIP = "segment_contacts";

/** How the members that were put into a segment by hand are named among what segments read. */
export function handRead(segmentId: number): string {
  return `segment:${segmentId}`;
}

function definitionOf(id: number, nesting: Nesting): Compiled {
  const { path, segments } = nesting;
  if (path.includes(id)) throw new FilterProblem("the segments would name each other in a circle.");
  if (path.length >= DEPTH_MAX) throw new FilterProblem("the segments name each other too deeply.");
  const segment = segments.get(id);
  const { mayName, ...inner } = nesting;
  if (!segment || (mayName && !mayName(id))) throw new FilterProblem(`there is no segment ${id}.`);
  // What that segment names in turn was named by somebody who could.
  const compiled = compileAll(segment.filters, { ...inner, segmentId: id, path: [...path, id] });
  const byHand = sql`from segment_contacts m where m.contact_id = c.id and m.segment_id = ${sql.lit(id)}`;
  return {
    predicate: sql`((${compiled?.predicate ?? sql`false`} or exists (select ${byHand} and m.manually_added))
      and not exists (select ${byHand} and m.manually_removed))`,
    isDaily: compiled?.isDaily ?? false,
    reads: new Set([handRead(id), ...(compiled?.reads ?? [])]),
  };
}
