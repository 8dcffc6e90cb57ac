import { create, toBinary } from "@bufbuild/protobuf";
import { backgroundDeadline, queryable } from "@tidings/database/database";
import { factSource } from "@tidings/messaging/facts";
import { SmsRepliesSchema } from "@tidings/proto/tidings/content/v1/events";
import type { Foundation, Parts } from "@tidings/service/start-service";
import type { Router } from "express";
import { callbackRoutes } from "../callback/callback-routes.ts";
import type { ContentConfig } from "../config.ts";
import { SMS_FACTS } from "../text/sms-facts.ts";
import { countryOf } from "../text/transport-url.ts";
import { recordTextEvents } from "./record-text-events.ts";
import { REPLY_COLUMNS, repliesOf } from "./reply-facts.ts";
import { beginCountingTexts, noteTexts, TEXTS } from "./text-callback-metrics.ts";

type Replies = Required<Pick<Parts, "facts">> & { route: Router };

/** The way back of text messages: reports of providers, and answers (engines.md 9.1). */
export function openReplies({ config, database, outbox, log }: Foundation<ContentConfig>): Replies {
  const { SMS_CALLBACKS: callbacks, SMS_URL: url, PUBLIC_URL: publicUrl } = config;
  for (const { name } of callbacks) beginCountingTexts(name);
  const country = countryOf(url);
  return {
    route: callbackRoutes({
      ...{ database, log, publicUrl, callbacks, paths: ["/sms/:name/callback"], prefix: TEXTS },
      // No signature of theirs needs a certificate.
      fetchText: async () => undefined,
      async record(provider, events, nonce) {
        const recorded = await recordTextEvents({ database, outbox, country }, { provider, events, nonce });
        noteTexts(provider, recorded);
        const { kinds, known, unmatched } = recorded;
        return { taken: kinds.length, known, unmatched };
      },
    }),
    facts: [
      factSource(database, {
        type: SmsRepliesSchema.typeName,
        table: "text_replies",
        key: "hash",
        columns: [REPLY_COLUMNS],
        async eventsOf(facts) {
          const ids = facts.map(({ sms_id }) => Number(sms_id));
          const smses = await SMS_FACTS.itemsOf(queryable(database, backgroundDeadline()), ids);
          return [toBinary(SmsRepliesSchema, create(SmsRepliesSchema, repliesOf(facts, smses)))];
        },
      }),
    ],
  };
}
