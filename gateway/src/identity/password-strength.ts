/** The least score, out of 4: a 3 takes 10^8 guesses. */
const SCORE_MIN = 3;
/** The estimate of a long text takes a second. A password whose beginning is strong is strong. */
const ESTIMATED_MAX = 64;

let loaded: ReturnType<typeof loadEstimator> | undefined;

/** Would guessing take long, also for somebody who knows these words about the user? */
export async function isStrong(password: string, known: string[]): Promise<boolean> {
  loaded ??= loadEstimator();
  return (await loaded).check(password.slice(0, ESTIMATED_MAX), known).score >= SCORE_MIN;
}

/** Its dictionaries take 40 MB: most processes never ask. */
async function loadEstimator() {
  const [{ ZxcvbnFactory }, common, english] = await Promise.all([
    import("@zxcvbn-ts/core"),
    import("@zxcvbn-ts/language-common"),
    import("@zxcvbn-ts/language-en"),
  ]);
  const dictionary = { ...common.dictionary, ...english.dictionary };
  return new ZxcvbnFactory({ dictionary, graphs: common.adjacencyGraphs });
}
