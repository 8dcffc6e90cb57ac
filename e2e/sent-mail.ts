import type { MailSink } from "@tidings/testkit/mail-sink";
import { parsed } from "./mailing-stack.ts";
import type { VisitedStack } from "./visited-stack.ts";

/** A mail that its contact has got, with its links as paths of the public web. */
export interface SentMail {
  contactId: number;
  emailId: number;
  address: string;
  html: string;
  text: string;
  /** All addresses in its HTML. */
  paths: string[];
  /** The tracked links. */
  links: string[];
  pixel: string;
  view: string;
  unsubscribe: string;
}

let count = 0;

/** Sends an email to a contact of its own with these members, and reads the mail. */
export async function sendToReader(
  { made }: Pick<VisitedStack, "made">,
  sink: MailSink,
  emailId: number,
  members: object = {},
): Promise<SentMail> {
  const address = `reader-${++count}@example.org`;
  const { contact } = await made("contacts/new", { email: address, firstname: "Ada", ...members });
  await made(`emails/${emailId}/contact/${contact.id}/send`, {});
  const mail = sink.taken.find(({ to }) => to.includes(address));
  const { html, text = "" } = await parsed(mail);
  const paths = [...String(html).matchAll(/(?:href|src)="([^"]*)"/g)].map(([, address = ""]) => {
    const { pathname, search } = new URL(address.replaceAll("&amp;", "&"));
    return pathname + search;
  });
  const find = (start: string) => paths.find((path) => path.startsWith(start)) ?? "";
  return {
    ...{ contactId: contact.id, emailId, address, html: String(html), text, paths },
    links: paths.filter((path) => path.startsWith("/r/")),
    pixel: paths.find((path) => path.endsWith(".gif")) ?? "",
    view: find("/email/view/"),
    unsubscribe: find("/email/unsubscribe/"),
  };
}
