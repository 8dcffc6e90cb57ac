import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { madeOnce } from "./made-once.ts";

/** An email as it was at some version: all that a mail is made of. */
export interface EmailRevision {
  emailId: number;
  version: number;
  name: string;
  subject: string;
  language: string;
  fromAddress: string | null;
  fromName: string | null;
  replyToAddress: string | null;
  bccAddress: string | null;
  /** Absent of revisions that were kept before there was a choice. */
  useOwnerAsMailer?: boolean;
  utmTags: Record<string, string> | unknown[];
  preheaderText: string | null;
  customHtml: string | null;
  plainText: string | null;
  /** Ids of assets. */
  assetAttachments: number[];
  dynamicContent: unknown;
  headers: Record<string, string> | unknown[];
}

const COLUMNS =
  `name subject language from_address from_name reply_to_address bcc_address use_owner_as_mailer utm_tags preheader_text custom_html
  plain_text asset_attachments dynamic_content headers`.split(/\s+/);
const CONTENT = COLUMNS.map((name) => `'${memberOf(name)}', e.${name}`).join(", ");

/**
 * SQL of a statement that chooses sends: keeps the emails of these ids as they are. It is a part of that statement, which so reads the emails at the same
 * moment: an edit in between would leave sends of a revision that nobody kept.
 */
export function keptRevisions(emailIds: string): string {
  return `kept_revisions as (
    insert into email_revisions (email_id, version, content)
    select e.id, e.version, jsonb_build_object(${CONTENT}) from emails e where e.id = any (${emailIds})
    on conflict do nothing)`;
}

const presentStatement = prepared(
  "emails_present",
  `select e.version, jsonb_build_object(${CONTENT}) as content from emails e where e.id = $1`,
);
const readStatement = prepared(
  "email_revisions_read",
  "select content from email_revisions where email_id = $1 and version = $2",
);
const READ_MAX = 200;

/** An email as it is now; undefined for one that is gone. */
export async function presentRevision(
  database: Database,
  emailId: number,
): Promise<EmailRevision | undefined> {
  const [row] = await database.query(presentStatement, [emailId], backgroundDeadline());
  return row?.content ? { ...JSON.parse(row.content), emailId, version: Number(row.version) } : undefined;
}

/** Reads revisions; each is read once. */
export function revisionReader(
  database: Database,
): (emailId: number, version: number) => Promise<EmailRevision> {
  const once = madeOnce<EmailRevision>(READ_MAX);
  return (emailId, version) => once(`${emailId} ${version}`, () => readRevision(database, emailId, version));
}

async function readRevision(database: Database, emailId: number, version: number): Promise<EmailRevision> {
  const [row] = await database.query(readStatement, [emailId, version], backgroundDeadline());
  if (!row?.content) throw new Error(`there is no revision ${version} of email ${emailId}`);
  return { ...JSON.parse(row.content), emailId, version };
}

function memberOf(column: string): string {
  return column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
