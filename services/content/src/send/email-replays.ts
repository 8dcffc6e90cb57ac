import { EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import { replaysOf } from "./replay-sends.ts";
import { FACT_COLUMNS } from "./send-facts.ts";

/** Failed mails that are to be tried again. */
export const EMAIL_REPLAYS = replaysOf({
  ...{ kind: "send_replay", table: "sends", items: "emails", item: "email_id", schema: EmailSchema },
  ...{ hasBroadcasts: true, columns: FACT_COLUMNS },
});
