import { check } from "k6";
import type { Entity } from "../api.ts";
import { person } from "../contacts.ts";
import { domainLatency, journey } from "../journey.ts";
import { FOLLOWING, READ, SENT, VISIT, WRITE } from "../limits.ts";
import { awaitMails } from "../receiver.ts";
import { until } from "../until.ts";

const SHOP = "https://shop.example/news";
const HTML = `<html><body><p><a href="${SHOP}">News</a></p><p><a href="{unsubscribe_url}">Unsubscribe</a></p></body></html>`;
/** Addresses of a mail on the public web, behind their host. */
const PICTURE = /"https?:\/\/[^/"]+\/email\/([^/"]+\.gif)"/;
const LINK = /"https?:\/\/[^/"]+\/r\/([^"?]+)\?([^"]+)"/;
const UNSUBSCRIBE = /"https?:\/\/[^/"]+\/email\/(unsubscribe\/[^"]+)"/;
const unsubscribeToContact = domainLatency("unsubscribe_to_contact", FOLLOWING);

interface Contact extends Entity {
  doNotContact: unknown[];
}

/** A reader opens a mail, follows its link, and unsubscribes: the next mail is not sent. */
export const openClickUnsubscribe = journey({
  perMinute: 30,
  endpoints: {
    "POST /contacts/new": WRITE,
    "POST /emails/:id/contact/:contactId/send": SENT,
    "GET /email/:name": VISIT,
    "GET /r/:name": VISIT,
    "POST /email/:name": VISIT,
    "GET /contacts/:id": READ,
    "DELETE /contacts/:id/delete": WRITE,
  },
  latencies: [unsubscribeToContact],
  prepare(api, run) {
    const body = { name: `Opened ${run}`, subject: "News", emailType: "template", customHtml: HTML };
    return api<{ email: Entity }>("POST /emails/new", { body, status: 201 }).email.id;
  },
  iterate(api, email, mark) {
    const body = person(mark, 0);
    const { contact } = api<{ contact: Entity }>("POST /contacts/new", { body, status: 201 });
    const send = () =>
      api<{ success: number | boolean }>("POST /emails/:id/contact/:contactId/send", {
        path: { id: email, contactId: contact.id },
      });
    send();
    const mail = awaitMails(mark);
    if (!mail) return;
    const [, picture = ""] = PICTURE.exec(mail.html) ?? [];
    api("GET /email/:name", { path: { name: picture } });
    let target = "";
    const [, name = "", query = ""] = LINK.exec(mail.html) ?? [];
    api("GET /r/:name", {
      ...{ path: { name }, query, status: 302 },
      heard(headers) {
        target = headers.Location ?? "";
      },
    });
    check(target, { "the link leads to its target": (address) => address === SHOP });
    const [, unsubscribe = ""] = UNSUBSCRIBE.exec(mail.html) ?? [];
    const path = { name: unsubscribe };
    const page = api<string>("GET /email/:name", { path });
    check(page, { "a page asks whether to unsubscribe": (text) => text.includes("<button") });
    api("POST /email/:name", { path, form: { "List-Unsubscribe": "One-Click" } });
    const answeredAt = Date.now();
    check(send(), { "no mail is sent after a no": ({ success }) => success === false });
    const tookMs = until("the contact is unsubscribed", answeredAt, () => {
      const { contact: read } = api<{ contact: Contact }>("GET /contacts/:id", { path: { id: contact.id } });
      return read.doNotContact.length > 0;
    });
    if (tookMs !== undefined) unsubscribeToContact.add(tookMs);
    api("DELETE /contacts/:id/delete", { path: { id: contact.id } });
  },
  remove(api, email) {
    api("DELETE /emails/:id/delete", { path: { id: email } });
  },
});
