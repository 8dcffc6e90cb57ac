/** Mails that come back, in the forms of the servers that are met most, written for tests. */

export interface Returned {
  /** The sender of the returned mail, whom its report goes to. */
  to: string;
  /** The address that the returned mail was sent to. */
  recipient: string;
  messageId: string;
  /** Fields of the returned mail besides. */
  fields?: string[];
}

const DATE = "Thu, 26 Nov 2026 10:00:00 +0000";

const lines = (...texts: (string | string[])[]) => texts.flat().join("\r\n");

function originalHeader({ to, recipient, messageId, fields = [] }: Returned): string[] {
  return [
    `Return-Path: <${to}>`,
    "From: Shop <shop@mail.example>",
    `To: ${recipient}`,
    "Subject: News",
    `Message-ID: <${messageId}>`,
    ...fields,
  ];
}

/** The mailbox does not exist (RFC 3464, in the form of Postfix). */
export function postfixBounce(returned: Returned): string {
  const { to, recipient } = returned;
  return lines(
    ["Return-Path: <>", `Delivered-To: ${to}`, `Date: ${DATE}`],
    ["From: MAILER-DAEMON@mx.example.org (Mail Delivery System)", `To: ${to}`],
    ["Subject: Undelivered Mail Returned to Sender", "Auto-Submitted: auto-replied", "MIME-Version: 1.0"],
    [`Message-Id: <20261126100000.${messageIdPart(returned)}@mx.example.org>`],
    [
      "Content-Type: multipart/report; report-type=delivery-status;",
      '\tboundary="4F1A.1/mx.example.org"',
      "",
    ],
    ["This is a MIME-encapsulated message.", "", "--4F1A.1/mx.example.org"],
    ["Content-Description: Notification", "Content-Type: text/plain; charset=us-ascii", ""],
    [`<${recipient}>: host mx.example.org said: 550 5.1.1 User unknown`, "", "--4F1A.1/mx.example.org"],
    ["Content-Description: Delivery report", "Content-Type: message/delivery-status", ""],
    ["Reporting-MTA: dns; mx.example.org", "X-Postfix-Queue-ID: 4F1A", `Arrival-Date: ${DATE}`, ""],
    [`Final-Recipient: rfc822; ${recipient}`, `Original-Recipient: rfc822;${recipient}`, "Action: failed"],
    ["Status: 5.1.1", "Remote-MTA: dns; mx.example.org", "Diagnostic-Code: smtp; 550 5.1.1"],
    [`    <${recipient}>: Recipient address rejected: User unknown in virtual`, "    mailbox table", ""],
    [
      "--4F1A.1/mx.example.org",
      "Content-Description: Undelivered Message",
      "Content-Type: message/rfc822",
      "",
    ],
    [...originalHeader(returned), "", "Hello", "", "--4F1A.1/mx.example.org--", ""],
  );
}

/** The mailbox is full, in the form of Exim: no enhanced status beyond the class, no original recipient. */
export function eximBounce(returned: Returned): string {
  const { to, recipient } = returned;
  return lines(
    [`Envelope-to: ${to}`, `X-Failed-Recipients: ${recipient}`, "Auto-Submitted: auto-replied"],
    ["From: Mail Delivery System <Mailer-Daemon@exim.example.org>", `To: ${to}`, "References: <>"],
    ["Content-Type: multipart/report; report-type=delivery-status; boundary=1700-eximdsn-42"],
    ["MIME-Version: 1.0", "Subject: Mail delivery failed: returning message to sender"],
    [`Message-Id: <E1${messageIdPart(returned)}@exim.example.org>`, `Date: ${DATE}`, ""],
    ["--1700-eximdsn-42", "Content-type: text/plain; charset=us-ascii", "", "It was not delivered.", ""],
    [
      "--1700-eximdsn-42",
      "Content-type: message/delivery-status",
      "",
      "Reporting-MTA: dns; exim.example.org",
      "",
    ],
    ["Action: failed", `Final-Recipient: rfc822;${recipient}`, "Status: 5.0.0"],
    ["Remote-MTA: dns; mx.example.org", "Diagnostic-Code: smtp; 552 5.2.2 mailbox full", ""],
    ["--1700-eximdsn-42", "Content-type: text/rfc822-headers", "", ...originalHeader(returned), ""],
    ["--1700-eximdsn-42--", ""],
  );
}

/** A policy refused the mail, in the form of Exchange: quoted-printable, upper case, the address in the returned header. */
export function exchangeBounce(returned: Returned): string {
  const { to, recipient } = returned;
  return lines(
    [`From: <postmaster@tenant.example>`, `To: <${to.toUpperCase()}>`, `Date: ${DATE}`, "MIME-Version: 1.0"],
    ["X-MS-Exchange-Message-Is-Ndr:", "Subject: Undeliverable: News", "Auto-Submitted: auto-replied"],
    ['Content-Type: multipart/report; report-type="delivery-status";', '\tboundary="_000_b1"', ""],
    ["--_000_b1", 'Content-Type: multipart/alternative; boundary="_001_b2"', "", "--_001_b2"],
    ['Content-Type: text/plain; charset="utf-8"', "Content-Transfer-Encoding: base64", "", "SGVsbG8=", ""],
    [
      "--_001_b2",
      'Content-Type: text/html; charset="utf-8"',
      "",
      "<p>Undeliverable</p>",
      "",
      "--_001_b2--",
      "",
    ],
    ["--_000_b1", "Content-Type: message/delivery-status", "Content-Transfer-Encoding: quoted-printable", ""],
    ["Reporting-MTA: dns;tenant.example", "", `Final-recipient: RFC822;${recipient}`, "Action: failed"],
    [
      "Status: 5.7.133",
      "Diagnostic-Code: smtp;550 5.7.133 RESOLVER.RST.SenderNotAuthenticated =",
      "; not allowed",
    ],
    ["X-Display-Name: Ada", "", "--_000_b1", "Content-Type: message/rfc822", ""],
    [...originalHeader(returned), "", "Hello", "", "--_000_b1--", ""],
  );
}

/** The account does not exist, in the form of Gmail: a picture beside the text, a code on several lines. */
export function gmailBounce(returned: Returned): string {
  const { to, recipient } = returned;
  return lines(
    [`Delivered-To: bounces@inbox.example`, `X-Original-To: ${to}`, "Return-Path: <>", "Subject: Failure"],
    ["From: Mail Delivery Subsystem <mailer-daemon@googlemail.example>", `To: ${to}`, `Date: ${DATE}`],
    ["Auto-Submitted: auto-replied", `In-Reply-To: <${returned.messageId}>`],
    [`Message-ID: <${messageIdPart(returned)}.GMR@mx.google.example>`],
    ['Content-Type: multipart/report; boundary="0000b3"; report-type=delivery-status', "", "--0000b3"],
    ['Content-Type: multipart/related; boundary="0000b4"', "", "--0000b4", "Content-Type: text/plain", ""],
    ["Address not found", "", "--0000b4", 'Content-Type: image/png; name="icon.png"'],
    ["Content-Transfer-Encoding: base64", "Content-ID: <icon.png>", "", "iVBORw0KGgo=", "--0000b4--"],
    ["--0000b3", "Content-Type: message/delivery-status", "", "Reporting-MTA: dns; googlemail.example"],
    [`Arrival-Date: ${DATE}`, "X-Original-Message-ID: <x@y>", "", `Final-Recipient: rfc822; ${recipient}`],
    [
      "Action: failed",
      "Status: 5.1.1",
      "Diagnostic-Code: smtp; 550-5.1.1 The email account that you tried to",
    ],
    [" reach does not exist.", " 550 5.1.1 NoSuchUser", `Last-Attempt-Date: ${DATE}`, "", "--0000b3"],
    ["Content-Type: message/rfc822", "", ...originalHeader(returned), "", "Hello", "--0000b3--", ""],
  );
}

/** A reader's complaint (RFC 5965), passed on by a provider that knows nothing of the inbox but its address. */
export function complaint({ fields = [], messageId }: Returned, inbox: string, type = "abuse"): string {
  return lines(
    [
      "From: <fbl@provider.example>",
      `To: <${inbox}>`,
      `Date: ${DATE}`,
      "Subject: FW: News",
      "MIME-Version: 1.0",
    ],
    [`Message-ID: <fbl.${messageId}>`, "Content-Type: multipart/report; report-type=feedback-report;"],
    ['     boundary="part1_13d.2e68ed54"', "", "--part1_13d.2e68ed54", "Content-Type: text/plain", ""],
    [
      "This is an email abuse report.",
      "",
      "--part1_13d.2e68ed54",
      "Content-Type: message/feedback-report",
      "",
    ],
    [`Feedback-Type: ${type}`, "User-Agent: SomeGenerator/1.0", "Version: 1", "Original-Rcpt-To: redacted"],
    [`Received-Date: ${DATE}`, "", "--part1_13d.2e68ed54", "Content-Type: message/rfc822"],
    ["Content-Disposition: inline", "", "From: Shop <shop@mail.example>", "To: redacted", "Subject: News"],
    [`Message-ID: <${messageId}>`, ...fields, "", "Hello", "", "--part1_13d.2e68ed54--", ""],
  );
}

/** A mail of a person, with these fields beside the usual ones. */
export function letter(fields: string[], body = "Thank you!"): string {
  const names = fields.map((field) => field.slice(0, field.indexOf(":")).toLowerCase());
  const usual = [
    "From: Ada <ada@example.org>",
    "Subject: Re: News",
    "Content-Type: text/plain",
    `Date: ${DATE}`,
  ];
  return lines(
    fields,
    usual.filter((field) => !names.includes(field.slice(0, field.indexOf(":")).toLowerCase())),
    ["", body, ""],
  );
}

function messageIdPart({ messageId }: Returned): string {
  return messageId.replace(/@.*/, "");
}
