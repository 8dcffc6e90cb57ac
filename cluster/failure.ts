import { kubectl } from "./kubectl.ts";
import { say } from "./progress.ts";
import type { Outcome } from "./step.ts";

const SHOWN_WARNINGS = 15;

/** The outcome of something that went wrong; what the cluster says of itself then goes to who looks on. */
export async function failure(what: string, error: Error): Promise<Outcome> {
  const pods = await kubectl("get", "pods", "--output=wide");
  const warnings = await kubectl(
    "get",
    "events",
    "--field-selector=type=Warning",
    "--sort-by=.lastTimestamp",
  );
  say(
    `FAILED  ${what}: ${error.message}\n${pods}\n${warnings.split("\n").slice(-SHOWN_WARNINGS).join("\n")}`,
  );
  return { ok: false, what, note: error.message };
}
