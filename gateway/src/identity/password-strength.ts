import { ZxcvbnFactory } from "@zxcvbn-ts/core";
import { adjacencyGraphs, dictionary as common } from "@zxcvbn-ts/language-common";
import { dictionary as english } from "@zxcvbn-ts/language-en";

/** Of 4; 3 takes 10^8 guesses. */
const SCORE_MIN = 3;
/** The estimate of a long text takes a second. A password whose beginning is strong is strong. */
const ESTIMATED_MAX = 64;

const estimator = new ZxcvbnFactory({ dictionary: { ...common, ...english }, graphs: adjacencyGraphs });

/** Would guessing take long, also for somebody who knows these words about the user? */
export function isStrong(password: string, known: string[]): boolean {
  return estimator.check(password.slice(0, ESTIMATED_MAX), known).score >= SCORE_MIN;
}
