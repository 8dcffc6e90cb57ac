import { isObject, jsonOf } from "@tidings/resource/json-member";
import { textOf } from "@tidings/runtime/plain-text";

/** The share of a variant in percent, by its settings; 0 without any. */
export function weightIn(settings: Uint8Array | undefined): number {
  const read = jsonOf(settings);
  const weight = isObject(read) ? Number(textOf(read.weight) ?? 0) : 0;
  return Number.isFinite(weight) ? Math.min(100, Math.max(0, weight)) : 0;
}

/** The share of the parent of a test: what its published variants leave of 100. */
export function weightOfParent(weights: number[]): number {
  return Math.max(0, 100 - weights.reduce((sum, weight) => sum + weight, 0));
}

/** The place of the variant whose part of all counts is furthest below its weight in percent; the first of several (engines.md 6.8). */
export function furthestBelow(variants: { weight: number; count: number }[]): number {
  const all = variants.reduce((sum, { count }) => sum + count, 0);
  const deficits = variants.map(({ weight, count }) => weight / 100 - (all > 0 ? count / all : 0));
  return deficits.indexOf(Math.max(...deficits));
}
