import { timestampDate } from "@bufbuild/protobuf/wkt";
import { type Database, prepared } from "@tidings/database/database";
import type { Email, EmailMethodService } from "@tidings/proto/tidings/content/v1/email";
import { jsonBytes, notValid } from "@tidings/resource/json-member";
import type { FindVisible } from "@tidings/resource/needs";
import type { Repository } from "@tidings/resource/repository-options";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { conflict, invalid, notFound } from "@tidings/rpc/fault";
import { FAMILY_OF } from "./email-family.ts";
import { presentRevision } from "./email-revision.ts";
import { notWritten } from "./not-written.ts";
import { type PreviewOptions, previewMail } from "./preview-mail.ts";
import { requireContact } from "./require-contact.ts";

interface PreviewMethodOptions {
  database: Database;
  rows: Repository<Email>;
  findVisible: FindVisible;
  preview: PreviewOptions;
}

const familyStatement = prepared(
  "emails_of_family",
  `select from emails e, (select ${FAMILY_OF} as id from emails e where e.id = $1::integer) family where e.id = $2::integer and ${FAMILY_OF} = family.id`,
);

/** The preview of an email, or of a variant or translation of it. */
export function previewMethods({
  database,
  rows,
  findVisible,
  preview,
}: PreviewMethodOptions): Pick<Handlers<typeof EmailMethodService>, "previewEmail"> {
  const shownOf = async (id: number, variantId: number, call: Call) => {
    const email = await rows.get(id, call);
    if (variantId === 0 || variantId === id) return email;
    const isOfFamily = await database.query(familyStatement, [id, variantId], call.deadlineMs);
    if (isOfFamily.length === 0)
      throw invalid([notValid("variant", `Email ${variantId} is no variant or translation of this email.`)]);
    return rows.get(variantId, call);
  };
  return {
    async previewEmail({ id, contactId, variantId, on }, call) {
      const email = await shownOf(id, variantId, call);
      if (contactId > 0) await requireContact(findVisible, contactId, call);
      const revision = await presentRevision(database, email.id);
      if (!revision) throw notFound();
      const now = on ? timestampDate(on).getTime() : database.now();
      const shown = { contactId: contactId || undefined, isBulk: email.emailType === "list", now };
      const mail = await previewMail(revision, shown, preview).catch(notWritten);
      if ("reason" in mail) throw conflict(mail.reason);
      const { subject, html, text, bytes, links, warnings } = mail;
      const headers = mail.headers.map(([name, value]) => ({ name, value }));
      return {
        ...{ subject, html, text, bytes, headers: jsonBytes(headers) },
        ...{ links: jsonBytes(links), warnings: jsonBytes(warnings) },
      };
    },
  };
}
