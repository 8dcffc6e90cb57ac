/** The start of the whole run: processes that it starts inherit it. */
process.env.RUN_STARTED_AT ??= String(Date.now());
const startedAt = Number(process.env.RUN_STARTED_AT);

/** A line for who looks on, with the seconds since the run began. */
export function say(text: string): void {
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  console.log(`${seconds.padStart(7)} s  ${text}`);
}
