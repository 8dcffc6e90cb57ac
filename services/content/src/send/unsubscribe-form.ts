import { type Database, prepared } from "@tidings/database/database";
import { isOutage } from "@tidings/rpc/outage";

const findStatement = prepared(
  "emails_unsubscribe_form",
  "select unsubscribe_form_id as id from emails where id = $1",
);
const FIND_MS = 5_000;

/** The markup of the form that an email's unsubscribe page shows; undefined where there is none to show. */
export type UnsubscribeForm = (emailId: number) => Promise<string | undefined>;

/** Finds that form (engines.md 6.6). The page has no values of the contact: mails are forwarded, and their links with them. */
export function unsubscribeForms(
  database: Database,
  markupOf: (formId: number) => Promise<string | undefined>,
): UnsubscribeForm {
  return async (emailId) => {
    try {
      const [email] = await database.query(findStatement, [emailId], Date.now() + FIND_MS);
      return email?.id ? await markupOf(Number(email.id)) : undefined;
    } catch (error) {
      // The refusal is kept: its reader is to see so.
      if (isOutage(error)) return undefined;
      throw error;
    }
  };
}
