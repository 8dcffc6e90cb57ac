import type { Claimed } from "@tidings/jobs/queue";
import type { Mailbox } from "@tidings/mail/compose-mail";
import { refusesEmails } from "../send/refusals.ts";
import type { RenderedMail } from "../send/render-mail.ts";
import { EVERY_GROUP, laneOf } from "../send/run-sends.ts";

/** A mail as it was written when its recipient was chosen. */
export interface NoticeMail extends RenderedMail {
  /** As the mail shows them; its recipient alone where both are empty. */
  to: Mailbox[];
  cc: Mailbox[];
  /** Ids of assets. */
  attachments: number[];
}

/** A claimed notice: a mail to a user or an address. Its group is the form or email that it came from. */
export interface Notice extends Claimed {
  /** A UUIDv7 that names it in its mail. */
  hash: string;
  address: string;
  mail: NoticeMail;
  /** The contact that it is for, who may have said no; undefined of a mail for others. */
  contactId: number | undefined;
}

export const noticeLane = laneOf<Notice>({
  name: "send_notice",
  table: "notices",
  where: "true",
  group: "source_id",
  columns: "hash, address, mail, case when is_to_contact then contact_id end as for_contact_id",
  groups: EVERY_GROUP,
  jobOf: (claimed, row) => ({
    ...claimed,
    hash: row.hash ?? "",
    address: row.address ?? "",
    mail: JSON.parse(row.mail ?? "{}"),
    contactId: row.for_contact_id ? Number(row.for_contact_id) : undefined,
  }),
  mayStart: `not (is_to_contact and ${refusesEmails("notices.contact_id")})`,
});
