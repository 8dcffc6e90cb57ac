import { after } from "node:test";
import { type MailSink, type SinkOptions, startMailSink, type TakenMail } from "@tidings/testkit/mail-sink";
import { type ParsedMail, simpleParser } from "mailparser";
import type { TestStackOptions } from "./stack.ts";
import { startVisitedStack, type VisitedStack } from "./visited-stack.ts";

/** An installation that sends to a mail server, which keeps what it takes. */
export interface MailingStack extends VisitedStack {
  sink: MailSink;
  /** The mails to an address, or to all addresses that begin so. */
  mailsTo(start: string): TakenMail[];
}

export interface MailingStackOptions extends Omit<TestStackOptions, "env" | "replicas"> {
  /** Refusals and delays of the mail server. */
  server?: SinkOptions;
  /** Variables of the content service beside those of the mail server. */
  content?: Record<string, string>;
  /** Variables of the contact service. */
  contact?: Record<string, string>;
  /** Processes of the content service; with `apart` one serves, and another one sends. */
  senders?: number | "apart";
}

/** Mailboxes that begin with `gone` do not exist. */
export const GONE: Pick<SinkOptions, "onRecipient"> = {
  onRecipient: (address) => (address.startsWith("gone") ? "550 5.1.1 no such mailbox" : undefined),
};

/** Starts it for one test file. */
export async function startMailingStack({
  server,
  content = {},
  contact = {},
  senders = 1,
  ...options
}: MailingStackOptions = {}): Promise<MailingStack> {
  const sink = await startMailSink(server);
  after(() => sink.close());
  const isApart = senders === "apart";
  const stack = await startVisitedStack({
    ...options,
    replicas: { content: isApart ? 2 : senders },
    env: {
      contact,
      content: { ...mailVariables(sink.port), ...content, ...(isApart && { CONTENT_ROLE: "serve" }) },
      ...(isApart && { "content-2": { CONTENT_ROLE: "send" } }),
    },
  });
  after(() => stack.stop());
  return {
    ...stack,
    sink,
    mailsTo: (start) => sink.taken.filter(({ to }) => to.some((address) => address.startsWith(start))),
  };
}

/** The variables of an installation that sends to the mail server at this port. */
export function mailVariables(port: number) {
  return { MAIL_URL: `smtp://127.0.0.1:${port}?tls=off`, MAIL_FROM: "Shop <shop@mail.example>" };
}

/** A mail as its reader sees it; one without anything for none. */
export function parsed(mail: TakenMail | undefined): Promise<ParsedMail> {
  return simpleParser(Buffer.from(mail?.octets ?? "", "latin1"));
}
