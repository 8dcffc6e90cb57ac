import { type RawBuilder, sql } from "kysely";
import { type Comparison, compare, listOf, type Predicate, type Value } from "./compare.ts";
import { FilterProblem, type FilterValue } from "./filter.ts";
import { LIST_OPERATORS, OPERATORS } from "./kind.ts";

/** What a filter looks at. All SQL of it is about the contact `c`. */
export interface Subject {
  /** As the API calls it. */
  type: string;
  operators: ReadonlySet<string>;
  /** Names of what has to change for the result to change: see ContactUpdated, and the tables of activities. */
  reads: string[];
  compare(operator: string, operand: FilterValue, today: number): Comparison;
  /** What is compared, as JSON: for whoever asks why. */
  left: RawBuilder<unknown>;
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

/** Several things that belong to a contact, by id or by name. */
export interface IdSet {
  type: string;
  reads: string[];
  /** Does the contact have one of these? Throws FilterProblem when they cannot be. */
  hasOne(ids: string[]): Predicate;
  hasAny: Predicate;
  left: RawBuilder<unknown>;
}

export function setSubject({ type, reads, hasOne, hasAny, left }: IdSet): Subject {
  const predicateOf = (operator: string, operand: FilterValue): Predicate => {
    if (operator === "empty") return sql`not ${hasAny}`;
    if (operator === "!empty") return hasAny;
    const one = hasOne(listOf(operand));
    // Who has nothing to compare is not among them either.
    return operator === "!in" || operator === "!=" ? sql`(${one}) is not true` : one;
  };
  return {
    type,
    operators: LIST_OPERATORS,
    reads,
    compare: (operator, operand) => ({ predicate: predicateOf(operator, operand), isDaily: false }),
    left,
  };
}

export function idsOf(texts: string[]): number[] {
  const ids = texts.map(Number);
  if (ids.every((id) => Number.isInteger(id) && id > 0 && id < 2 ** 31)) return ids;
  throw new FilterProblem("The operator takes ids.");
}
