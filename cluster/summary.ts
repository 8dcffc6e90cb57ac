import type { Outcome } from "./step.ts";

const NOTE_MAX = 400;

/** The outcomes as a table in Markdown. */
export function summaryOf(outcomes: Outcome[]): string {
  const head = ["", "what", "seconds", "requests", "failed", "kept", "lost", "doubled", ""];
  const rows = outcomes.map(({ ok, what, seconds, requests, failed, kept, lost, doubled, note }) => [
    ok ? "ok" : "FAILED",
    what,
    seconds?.toFixed(1) ?? "",
    ...[requests, failed, kept, lost, doubled].map((count) => (count === undefined ? "" : String(count))),
    note?.slice(0, NOTE_MAX).replaceAll("|", "\\|").replaceAll("\n", " ") ?? "",
  ]);
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
