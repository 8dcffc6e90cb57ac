import { check } from "k6";
import type { Entity } from "../api.ts";
import { makeContacts, removeContacts } from "../contacts.ts";
import { domainLatency, journey } from "../journey.ts";
import { FOLLOWING, READ, SENT, WRITE } from "../limits.ts";
import { awaitMails } from "../receiver.ts";

const RECIPIENTS = 50;
const HTML = `<p>Hello {contactfield=firstname|you}, there is <a href="https://shop.example/news">news</a>.</p>
<p><a href="{unsubscribe_url}">Unsubscribe</a></p>`;
const broadcastToInboxes = domainLatency("broadcast_to_inboxes", FOLLOWING);

interface Sent {
  sentCount: number;
  send: { id: string };
}

/** A newsletter is written and sent to a segment, and each of its members gets it once. */
export const emailBroadcast = journey({
  perMinute: 12,
  endpoints: {
    "POST /emails/new": WRITE,
    "POST /emails/:id/send": SENT,
    "GET /emails/:emailId/sends/:sendId": READ,
    "DELETE /emails/:id/delete": WRITE,
  },
  latencies: [broadcastToInboxes],
  prepare(api, run) {
    const contacts = makeContacts(api, `${run}-readers`, RECIPIENTS);
    const body = { name: `Readers ${run}`, isPublished: true };
    const { list } = api<{ list: Entity }>("POST /segments/new", { body, status: 201 });
    api("POST /segments/:id/contacts/add", { path: { id: list.id }, body: { ids: contacts } });
    return { contacts, segment: list.id };
  },
  iterate(api, { segment }, mark) {
    const { email } = api<{ email: Entity }>("POST /emails/new", {
      body: {
        ...{ name: `News ${mark}`, subject: `News ${mark}`, emailType: "list", isPublished: true },
        ...{ lists: [segment], customHtml: HTML },
      },
      status: 201,
    });
    const askedAt = Date.now();
    const answer = api<Sent>("POST /emails/:id/send", { path: { id: email.id } });
    check(answer, { "each member is sent to": ({ sentCount }) => sentCount === RECIPIENTS });
    if (awaitMails(mark, RECIPIENTS)) broadcastToInboxes.add(Date.now() - askedAt);
    const { send } = api<{ send: { sent: number } }>("GET /emails/:emailId/sends/:sendId", {
      path: { emailId: email.id, sendId: answer.send.id },
    });
    check(send, { "the ledger has each mail once": ({ sent }) => sent === RECIPIENTS });
    api("DELETE /emails/:id/delete", { path: { id: email.id } });
  },
  remove(api, { contacts, segment }) {
    api("DELETE /segments/:id/delete", { path: { id: segment } });
    removeContacts(api, contacts);
  },
});
