import { retention } from "@tidings/jobs/retention";
import { createOutbound } from "@tidings/outbound/outbound";
import { unavailable } from "@tidings/rpc/fault";
import type { Foundation, Parts } from "@tidings/service/start-service";
import type { Router } from "express";
import type { ContentConfig } from "../config.ts";
import { beginCountingFeedback, noteRecorded } from "./callback-metrics.ts";
import { callbackRoutes } from "./callback-routes.ts";
import { EVENT_DAYS } from "./event-keys.ts";
import { recordFeedback } from "./record-feedback.ts";

const FETCH_TIMEOUT_MS = 5_000;
const RETAINED = {
  ...{ kind: "callback_retention", table: "callback_events", since: "date_added" },
  days: EVENT_DAYS,
};

type Callbacks = Required<Pick<Parts, "jobs" | "work">> & { routes: Router };

/** The reports of mail providers: bounces, complaints, deliveries. */
export function openCallbacks({ config, database, outbox, log }: Foundation<ContentConfig>): Callbacks {
  const outbound = createOutbound({ allowed: config.OUTBOUND_ALLOW_CIDRS, timeoutMs: FETCH_TIMEOUT_MS });
  const { MAIL_CALLBACKS: callbacks, PUBLIC_URL: publicUrl } = config;
  for (const { name } of callbacks) beginCountingFeedback(name);
  return {
    routes: callbackRoutes({
      // Engines.md 6.6: the path of all providers has no name where one is set up.
      paths: ["/mailer/callback", "/mailer/callback/:name"],
      ...{ database, log, publicUrl, callbacks },
      async fetchText(url) {
        const { status, text } = await outbound.send({ method: "GET", url }).catch((error: unknown) => {
          throw unavailable(error);
        });
        if (status >= 500) throw unavailable(new Error(`the provider answers ${status}`));
        return status === 200 ? text : undefined;
      },
      async record(provider, events, nonce) {
        const recorded = await recordFeedback(database, outbox, { provider, events, nonce });
        noteRecorded(provider, recorded);
        const { kinds, known, unmatched } = recorded;
        return { taken: kinds.length, known, unmatched };
      },
    }),
    jobs: [retention(database, log, RETAINED)],
    work: { "callbacks of mail providers": { stop: () => outbound.close() } },
  };
}
