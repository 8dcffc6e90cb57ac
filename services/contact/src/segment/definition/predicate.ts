import type { Comparison, Predicate } from "@tidings/filters/compare-in-sql";
import { type Filter, FilterProblem } from "@tidings/filters/filter";
import { groupsOf } from "@tidings/filters/groups";
import { idsOf, listOf } from "@tidings/filters/operand";
import { VALUE_FREE } from "@tidings/filters/operators";
import { checkShape } from "@tidings/filters/shape";
import { type RawBuilder, sql } from "kysely";
import type { FieldCatalogue } from "../../field/catalogue.ts";
import { findSubject } from "./find-subject.ts";
import { type Subject, type SubjectComparison, setSubject } from "./subject.ts";

/** The definitions that filters are compiled with. */
export interface Scope {
  catalogue: FieldCatalogue;
  /** All segments by id, for those that name others. */
  segments: ReadonlyMap<number, NamedFilters>;
  /** The id of the segment itself, when it has one. */
  segmentId: number | undefined;
  /** Midnight in UTC, in milliseconds since the epoch. */
  today: number;
  /** May the caller name this segment? Every segment may be named where there is no caller. */
  mayName?(id: number): boolean;
}

export interface NamedFilters {
  id: number;
  filters: Filter[];
}

/** Filters as SQL over the contact `c`. */
export interface Compiled extends Comparison {
  /** Names of the values that have to change for the result to change. */
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
  const groups = groupsOf(filters).map((group) => {
    const parts = group.map((filter) => {
      const subject = subjectOf(filter, nesting);
      const compiled = compileOne(filter, subject, nesting.today);
      for (const name of compiled.reads ?? subject.reads) reads.add(name);
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

/** Each filter by itself, with the value that it compares, for explanations. */
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

function subjectOf(filter: Filter, nesting: Nesting): Subject {
  const { field, object } = filter;
  const subject =
    field === "leadlist" && object !== "company"
      ? segmentsSubject(nesting)
      : findSubject(field, object, nesting.catalogue);
  if (!subject) throw new FilterProblem(`"${field.slice(0, 50)}" is not a field that can be filtered.`);
  return subject;
}

function compileOne({ field, operator, filter }: Filter, subject: Subject, today: number): SubjectComparison {
  if (!subject.operators.has(operator))
    throw new FilterProblem(`"${operator.slice(0, 20)}" is not an operator of ${field}.`);
  try {
    return subject.compare(operator, filter, today);
  } catch (error) {
    throw error instanceof FilterProblem ? new FilterProblem(`${field}: ${error.message}`) : error;
  }
}

/** A contact that meets the definition of another segment: additions and removals by hand count, the time of its last build does not. */
function segmentsSubject(nesting: Nesting): Subject {
  const own = nesting.segmentId ?? 0;
  const memberships = sql`segment_contacts m where m.contact_id = c.id and not m.manually_removed
    and m.segment_id <> ${sql.lit(own)}`;
  const shown = nesting.mayName && [...nesting.segments.keys()].filter(nesting.mayName);
  const shownMemberships = shown
    ? sql`${memberships} and m.segment_id = any(${shown}::integer[])`
    : memberships;
  return setSubject({
    type: "leadlist",
    reads: [MEMBERSHIP],
    hasOne(texts) {
      const named = idsOf(texts).map((id) => definitionOf(id, nesting));
      return {
        predicate: sql`(${sql.join(
          named.map(({ predicate }) => predicate),
          sql` or `,
        )})`,
        isDaily: named.some(({ isDaily }) => isDaily),
        reads: named.flatMap((definition) => [...definition.reads]),
      };
    },
    hasAny: sql`exists (select from ${memberships})`,
    left: sql`(select coalesce(json_agg(m.segment_id order by m.segment_id), '[]') from ${shownMemberships})`,
  });
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
  // Segments that the other one names were named by a caller who could.
  const compiled = compileAll(segment.filters, { ...inner, segmentId: id, path: [...path, id] });
  const byHand = sql`from segment_contacts m where m.contact_id = c.id and m.segment_id = ${sql.lit(id)}`;
  return {
    predicate: sql`((${compiled?.predicate ?? sql`false`} or exists (select ${byHand} and m.manually_added))
      and not exists (select ${byHand} and m.manually_removed))`,
    isDaily: compiled?.isDaily ?? false,
    reads: new Set([handRead(id), ...(compiled?.reads ?? [])]),
  };
}
