import { eventually } from "@tidings/testkit/eventually";
import type { VisitedStack } from "./visited-stack.ts";

/** Waits until a check succeeds that is about clicks in mails which nobody had read. They need not wait their ten seconds for each other. */
export function judgedIn({ query }: Pick<VisitedStack, "query">) {
  return (check: () => Promise<void>): Promise<void> =>
    eventually(
      async () => {
        await query("update content.mail_clicks set due_at = now() where due_at > now()");
        await query(
          // One that is at work has a later time: the end of its lease.
          "update content.jobs set due_at = now() where kind = 'mail_clicks' and due_at between now() and now() + interval '11 s'",
        );
        await check();
      },
      { timeoutMs: 40_000, intervalMs: 200 },
    );
}
