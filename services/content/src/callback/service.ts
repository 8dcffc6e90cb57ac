import { retention } from "@tidings/jobs/retention";
import { createOutbound } from "@tidings/outbound/outbound";
import { unavailable } from "@tidings/rpc/fault";
import type { Foundation, Parts } from "@tidings/service/start-service";
import type { Router } from "express";
import type { ContentConfig } from "../config.ts";
import { callbackRoutes } from "./callback-routes.ts";
import { EVENT_DAYS } from "./record-feedback.ts";

const FETCH_TIMEOUT_MS = 5_000;
const RETAINED = {
  ...{ kind: "callback_retention", table: "callback_events", since: "date_added" },
  days: EVENT_DAYS,
};

type Callbacks = Required<Pick<Parts, "jobs" | "work">> & { routes: Router };

/** The reports of mail providers: bounces, complaints, deliveries. */
export function openCallbacks({ config, database, outbox, log }: Foundation<ContentConfig>): Callbacks {
  const outbound = createOutbound({ allowed: config.OUTBOUND_ALLOW_CIDRS, timeoutMs: FETCH_TIMEOUT_MS });
  return {
    routes: callbackRoutes({
      ...{ database, outbox, log, callbacks: config.MAIL_CALLBACKS },
      async fetchText(url) {
        const { status, text } = await outbound.send({ method: "GET", url }).catch((error: unknown) => {
          throw unavailable(error);
        });
        if (status >= 500) throw unavailable(new Error(`the provider answers ${status}`));
        return status === 200 ? text : undefined;
      },
    }),
    jobs: [retention(database, log, RETAINED)],
    work: { "callbacks of mail providers": { stop: () => outbound.close() } },
  };
}
