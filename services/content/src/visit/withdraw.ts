import type { IncomingMessage } from "node:http";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { backgroundDeadline, prepared } from "@tidings/database/database";
import { factEvents } from "@tidings/messaging/fact-events";
import { VisitorsSeenSchema } from "@tidings/proto/tidings/content/v1/events";
import { forgetHeld } from "./held-visits.ts";
import { addressOf } from "./page-hit.ts";
import type { Parameters } from "./parameters.ts";
import { withoutProofs } from "./proofs.ts";
import type { Visits } from "./record-hits.ts";
import { CONSENT_PARAMETER, namedVisitOf } from "./visit.ts";
import type { VisitSettings } from "./visit-settings.ts";
import { VISITORS_SEEN } from "./visitor-events.ts";

/** Forgets the browser of a visitor who takes their consent back: that of the landing page, where the report comes from one. That they did stays known of their contact. */
export type Withdraw = (
  request: IncomingMessage,
  parameters: Parameters,
  deviceOfPage: string | undefined,
) => Promise<void>;

const forgetStatement = prepared(
  "visitor_devices_withdraw",
  `with promised as (delete from promised_visitors where device_id = $1)
   delete from visitor_devices where id = $1 returning contact_id`,
);

export function withdrawal({ database, outbox }: Visits, settings: VisitSettings): Withdraw {
  return async (request, parameters, deviceOfPage) => {
    const agreed = new Map([...parameters, [CONSENT_PARAMETER, "1"] as const]);
    const { device, referer, at } = namedVisitOf(request, agreed, settings, deviceOfPage);
    if (!device || device.isNew) return;
    const url =
      withoutProofs(addressOf(parameters.get("page_url") ?? ""), settings.prefix) || addressOf(referer);
    await database.transaction(backgroundDeadline(), async (transaction) => {
      forgetHeld(transaction, device.id);
      const forgotten = await transaction.query(forgetStatement, [device.id]);
      const visitors = forgotten.map(({ contact_id }) => ({
        contactId: Number(contact_id),
        at: timestampFromMs(at),
        consent: { given: false, url },
      }));
      outbox.append(
        transaction,
        factEvents(VISITORS_SEEN, VisitorsSeenSchema, visitors, (seen) => ({ visitors: seen })),
      );
    });
  };
}
