import exec from "k6/execution";
import type { Entity } from "../api.ts";
import { makeContacts, removeContacts } from "../contacts.ts";
import { domainLatency, journey } from "../journey.ts";
import { FOLLOWING, WRITE } from "../limits.ts";
import { awaitDelivery } from "../receiver.ts";
import { settings } from "../settings.ts";

const CONTACTS = 100;
const editToWebhook = domainLatency("edit_to_webhook", FOLLOWING);

/** A contact is changed, and a receiver gets the delivery. */
export const webhookDelivery = journey({
  perMinute: 120,
  endpoints: { "PATCH /contacts/:id/edit": WRITE },
  latencies: [editToWebhook],
  prepare(api, run) {
    const body = {
      name: `Load test ${run}`,
      webhookUrl: `${settings.webhookUrl}/${run}`,
      triggers: ["svc.lead_post_save_update"],
      isPublished: true,
    };
    const { hook } = api<{ hook: Entity }>("POST /hooks/new", { body, status: 201 });
    return { hook: hook.id, contacts: makeContacts(api, `${run}-hook`, CONTACTS) };
  },
  iterate(api, { contacts }, mark) {
    const id = contacts[exec.scenario.iterationInTest % contacts.length] ?? 0;
    api("PATCH /contacts/:id/edit", { path: { id }, body: { fax: mark } });
    const answeredAt = Date.now();
    if (awaitDelivery(mark)) editToWebhook.add(Date.now() - answeredAt);
  },
  remove(api, { hook, contacts }) {
    api("DELETE /hooks/:id/delete", { path: { id: hook } });
    removeContacts(api, contacts);
  },
});
