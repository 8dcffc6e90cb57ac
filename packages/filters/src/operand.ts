import { yesOrNoOf } from "@tidings/runtime/plain-text";
import { FilterProblem, type FilterValue } from "./filter.ts";

/** The value of a filter, read for an operator. Throws FilterProblem where it cannot be. */

export function isBlank(operand: FilterValue): boolean {
  return operand === null || operand === "" || (Array.isArray(operand) && operand.length === 0);
}

export function textOf(operand: FilterValue): string {
  if (operand === null || Array.isArray(operand)) throw new FilterProblem("The operator takes one value.");
  return String(operand);
}

/** The values of a list, which a text separates by bars. */
export function listOf(operand: FilterValue): string[] {
  const values = Array.isArray(operand) ? operand : textOf(operand).split("|");
  const texts = values.map((value) => String(value).trim()).filter((text) => text !== "");
  if (texts.length === 0) throw new FilterProblem("The operator takes at least one value.");
  return texts;
}

/** With a `%` it is a pattern as the caller wrote it, else a part of the text. */
export function likePattern(operand: string): string {
  return operand.includes("%") ? operand.replaceAll("\\", "\\\\") : `%${literal(operand)}%`;
}

/** The text, with no character that LIKE gives a meaning. */
export function literal(text: string): string {
  return text.replaceAll(/[\\%_]/g, "\\$&");
}

export function numberOf(text: string): string {
  const number = Number(text);
  if (text.trim() === "" || !Number.isFinite(number))
    throw new FilterProblem(`"${text.slice(0, 50)}" is not a number.`);
  return String(number);
}

export function booleanOf(text: string): boolean {
  const value = yesOrNoOf(text);
  if (value === undefined) throw new FilterProblem(`"${text.slice(0, 50)}" is neither true nor false.`);
  return value;
}

/** Ids of entities. */
export function idsOf(texts: string[]): number[] {
  const ids = texts.map(Number);
  if (ids.every((id) => Number.isInteger(id) && id > 0 && id < 2 ** 31)) return ids;
  throw new FilterProblem("The operator takes ids.");
}
