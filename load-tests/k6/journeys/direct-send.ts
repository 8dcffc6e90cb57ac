import { check } from "k6";
import type { Entity } from "../api.ts";
import { person } from "../contacts.ts";
import { domainLatency, journey } from "../journey.ts";
import { FOLLOWING, SENT, WRITE } from "../limits.ts";
import { awaitMails } from "../receiver.ts";

const HTML = `<p>Hello {contactfield=firstname|you}, your code is {code}.</p>`;
const sendToInbox = domainLatency("send_to_inbox", FOLLOWING);

/** Somebody signs up, and gets a mail with what was asked for. */
export const directSend = journey({
  perMinute: 60,
  endpoints: {
    "POST /contacts/new": WRITE,
    "POST /emails/:id/contact/:contactId/send": SENT,
    "DELETE /contacts/:id/delete": WRITE,
  },
  latencies: [sendToInbox],
  prepare(api, run) {
    const body = { name: `Code ${run}`, subject: "Your code", emailType: "template", customHtml: HTML };
    return api<{ email: Entity }>("POST /emails/new", { body, status: 201 }).email.id;
  },
  iterate(api, email, mark) {
    const body = { ...person(mark, 0), firstname: "Ada" };
    const { contact } = api<{ contact: Entity }>("POST /contacts/new", { body, status: 201 });
    const askedAt = Date.now();
    const answer = api<{ success: number }>("POST /emails/:id/contact/:contactId/send", {
      path: { id: email, contactId: contact.id },
      body: { tokens: { code: mark } },
    });
    check(answer, { "the mail is sent": ({ success }) => success === 1 });
    const mail = awaitMails(mark);
    if (mail) {
      sendToInbox.add(Date.now() - askedAt);
      const text = `Hello Ada, your code is ${mark}.`;
      check(mail, { "the mail was written for its contact": ({ html }) => html.includes(text) });
    }
    api("DELETE /contacts/:id/delete", { path: { id: contact.id } });
  },
  remove(api, email) {
    api("DELETE /emails/:id/delete", { path: { id: email } });
  },
});
