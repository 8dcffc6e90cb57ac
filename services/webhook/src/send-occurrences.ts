import { fromBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import {
  type EmailSend,
  EmailSendsSchema,
  type SentEmail,
  SmsSendsSchema,
} from "@tidings/proto/tidings/content/v1/events";
import { type Occurrence, partId } from "./occurrence.ts";
import { ipMember, isoTimeOrNull, jsonMember } from "./record-json.ts";

/** One event carries many sends; receivers get one delivery for each mail, under the id of its send. */
export function sendOccurrences(event: Event): Occurrence[] {
  const { sends, emails } = fromBinary(EmailSendsSchema, event.payload);
  const shown = emailMembers(emails);
  return sends.map((send) => ({
    trigger: "email_on_send" as const,
    id: send.id,
    event,
    lead: { of: "contact", contactId: send.contactId, as: "flat" },
    mail: { hash: send.id },
    members: {
      email: shown(send),
      // No copy of a mail is kept.
      contentHash: null,
      idHash: send.id,
      source: [send.source, send.sourceId ?? null],
      tokens: jsonMember(send.tokens) ?? {},
    },
  }));
}

/** Opens of one mail at the same moment are one change of its send; receivers get one delivery for each of them. */
export function openOccurrences(event: Event): Occurrence[] {
  const { sends, emails } = fromBinary(EmailSendsSchema, event.payload);
  const shown = emailMembers(emails);
  return sends.flatMap((send) => {
    const before = send.readCount - send.opens;
    return Array.from({ length: send.opens }, (_, index) => before + index + 1).map((openCount) => ({
      trigger: "email_on_open" as const,
      id: partId(send.id, `open ${openCount}`),
      event,
      lead: { of: "stat", contactId: send.contactId },
      members: { stat: { ...statMember(send), openCount, email: shown(send) } },
    }));
  });
}

/** Receivers get one delivery for each text message, under the id of its send, with the contact as it is now. */
export function textOccurrences(event: Event): Occurrence[] {
  const { sends } = fromBinary(SmsSendsSchema, event.payload);
  return sends.map(({ id, contactId, smsId, content }) => ({
    trigger: "sms_on_send" as const,
    id,
    event,
    lead: { of: "contact", contactId, as: "whole" },
    members: { smsId, content },
  }));
}

/** The members of a send (engines.md 8.4) without the lead and the email. */
function statMember(send: EmailSend) {
  return {
    id: send.id,
    emailAddress: send.address || null,
    ipAddress: ipMember(send.ip),
    dateSent: isoTimeOrNull(send.dateSent),
    isRead: send.dateRead !== undefined,
    isFailed: send.isFailed,
    dateRead: isoTimeOrNull(send.dateRead),
    retryCount: send.retryCount,
    source: send.source || null,
    sourceId: send.sourceId ?? null,
    lastOpened: isoTimeOrNull(send.lastOpened),
    trackingHash: send.id,
    viewedInBrowser: send.viewedInBrowser,
  };
}

/** The email of a send; only its id where the email is gone. */
function emailMembers(emails: SentEmail[]) {
  const members = new Map(
    emails.map(({ id, name, subject, language, emailType, category }) => [
      id,
      { id, name, subject, language, emailType, category: jsonMember(category) },
    ]),
  );
  return ({ emailId }: EmailSend) => members.get(emailId) ?? { id: emailId };
}
