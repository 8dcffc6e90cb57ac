import { readFileSync } from "node:fs";
import { median } from "./statistics.ts";

/** The parts of a line that are kept for a later comparison. */
export interface KeptLine {
  name: string;
  title: string;
  /** CPU of a request as a multiple of what the bare path takes, in each round: whatever speed the machine has cancels out. */
  costs: number[];
}

export interface KeptResult {
  machine: string;
  contacts: number;
  lines: KeptLine[];
}

export interface Change {
  title: string;
  before: number;
  now: number;
  /** The share by which rounds of one run differ, the larger of both runs. */
  noise: number;
  verdict: "worse" | "better" | "";
}

/** Rounds that happen to agree say nothing of the next run. */
const NOISE_MIN = 0.05;

export function readKept(path: string): KeptResult {
  return JSON.parse(readFileSync(path, "utf8"));
}

/** How each line changed that both have. One that differs by no more than its noise has not. */
export function changes(before: KeptLine[], now: KeptLine[]): Change[] {
  const known = new Map(before.map((line) => [line.name, line]));
  return now.flatMap(({ name, title, costs }) => {
    const old = known.get(name);
    if (!old) return [];
    const [was, is] = [median(old.costs), median(costs)];
    const noise = Math.max(NOISE_MIN, spread(old.costs), spread(costs));
    const verdict = is > was * (1 + noise) ? "worse" : was > is * (1 + noise) ? "better" : "";
    return [{ title, before: was, now: is, noise, verdict }];
  });
}

function spread(costs: number[]): number {
  return (Math.max(...costs) - Math.min(...costs)) / median(costs);
}
