import { type Comparison, compare, type Predicate, type Value } from "@tidings/filters/compare-in-sql";
import type { FilterValue } from "@tidings/filters/filter";
import { listOf } from "@tidings/filters/operand";
import { LIST_OPERATORS, OPERATORS } from "@tidings/filters/operators";
import { type RawBuilder, sql } from "kysely";

/** A comparison, with what it reads where that is not what every comparison of its subject reads. */
export interface SubjectComparison extends Comparison {
  reads?: string[];
}

/** The subject of a filter. All its SQL is about the contact `c`. */
export interface Subject {
  /** As the API calls it. */
  type: string;
  operators: ReadonlySet<string>;
  /** Names of what has to change for the result to change: see ContactUpdated, and the tables of activities. */
  reads: string[];
  compare(operator: string, operand: FilterValue, today: number): SubjectComparison;
  /** The compared value as JSON, for explanations. */
  left: RawBuilder<unknown>;
}

/** A comparison that does not depend on the day. */
export function constantly(predicate: Predicate): Comparison {
  return { predicate, isDaily: false };
}

/** One value of the contact itself. */
export function valueSubject(
  type: string,
  reads: string[],
  value: Value,
  operators = OPERATORS[value.kind],
): Subject {
  return {
    type,
    operators,
    reads,
    compare: (operator, operand, today) => compare(value, operator, operand, today),
    left: sql`to_json(${value.sql})`,
  };
}

const LEFT_MAX = 20;

/** The values that rows have, a few of them. */
export function leftOf(from: RawBuilder<unknown>, value: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select coalesce(json_agg(v), '[]') from (select distinct ${value} as v from ${from} limit ${sql.lit(LEFT_MAX)}) l)`;
}

/** Several entities that belong to a contact, by id or by name. */
export interface IdSet {
  type: string;
  reads: string[];
  /** Does the contact have one of these? Throws FilterProblem when they cannot be. */
  hasOne(ids: string[]): SubjectComparison;
  hasAny: Predicate;
  left: RawBuilder<unknown>;
}

export function setSubject({ type, reads, hasOne, hasAny, left }: IdSet): Subject {
  const compareSet = (operator: string, operand: FilterValue): SubjectComparison => {
    if (operator === "empty") return { predicate: sql`not ${hasAny}`, isDaily: false };
    if (operator === "!empty") return { predicate: hasAny, isDaily: false };
    const one = hasOne(listOf(operand));
    // A contact with nothing to compare is not among them either.
    const isNegative = operator === "!in" || operator === "!=";
    return isNegative ? { ...one, predicate: sql`(${one.predicate}) is not true` } : one;
  };
  return {
    type,
    operators: LIST_OPERATORS,
    reads,
    compare: compareSet,
    left,
  };
}
