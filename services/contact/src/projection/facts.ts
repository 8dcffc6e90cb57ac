import type { DescMessage } from "@bufbuild/protobuf";
import { prepared } from "@tidings/database/database";
import { type ContactsNow, type FactReplica, facts as factReplica, timeOf } from "@tidings/projection/facts";
import type { Projection } from "@tidings/projection/projection";
import {
  AssetDownloadsSchema,
  EmailSendsSchema,
  NotificationSendsSchema,
  PageHitsSchema,
  SmsSendsSchema,
  TweetSendsSchema,
} from "@tidings/proto/tidings/content/v1/events";

/** Changes rows about contacts: the ids that it returns are theirs. */
export interface AboutContacts extends Projection {
  /** The table, by which segments know it. */
  table: string;
}

/**
 * A merge of these contacts ends first, or begins after this transaction: a row that it moves meanwhile could not be changed. The next
 * statement then finds the survivor.
 */
const awaitMergesStatement = prepared(
  "project_await_merges",
  `select from contacts c where c.id in (
     select coalesce(r.contact_id, t.id) from unnest($1::integer[]) as t (id)
     left join contact_redirects r on r.merged_id = t.id)
   order by c.id for key share of c`,
);

/**
 * Rows of the contacts of this service belong to the contact that they were merged into; rows of deleted contacts are left out. Each contact is
 * looked up by its id: a join that the planner may turn would read all contacts for a few rows.
 */
export const contactsNow: ContactsNow = {
  hold: (transaction, contactIds) => transaction.execute(awaitMergesStatement, [contactIds]),
  join: `left join contact_redirects r on r.merged_id = s.contact_id
      cross join lateral (select id from contacts where id = coalesce(r.contact_id, s.contact_id) offset 0) c`,
  contactId: "c.id",
};

/** Facts that the content service publishes. Their subjects are `tidings.content.<name>`. */
export const facts: AboutContacts[] = [
  fact(EmailSendsSchema, ["email.queued", "email.sent", "email.opened"], {
    table: "email_sends",
    columns: {
      id: "uuid",
      version: "integer",
      email_id: "integer",
      date_queued: "timestamptz",
      date_sent: "timestamptz",
      date_read: "timestamptz",
      read_count: "integer",
    },
    rows: ({ sends }) =>
      sends.map((send) => ({
        id: send.id,
        version: send.version,
        contact_id: send.contactId,
        email_id: send.emailId,
        date_queued: timeOf(send.dateQueued),
        date_sent: timeOf(send.dateSent),
        date_read: timeOf(send.dateRead),
        read_count: send.readCount,
      })),
  }),
  fact(PageHitsSchema, ["page.hit"], {
    table: "page_hits",
    columns: {
      id: "uuid",
      version: "integer",
      date_hit: "timestamptz",
      url: "text",
      url_title: "text",
      referer: "text",
      source: "text",
      source_id: "integer",
      page_id: "integer",
      redirect_id: "integer",
      email_id: "integer",
    },
    rows: ({ hits }) =>
      hits.map((hit) => ({
        id: hit.id,
        version: hit.version,
        contact_id: hit.contactId,
        date_hit: timeOf(hit.dateHit),
        url: hit.url || null,
        url_title: hit.urlTitle || null,
        referer: hit.referer || null,
        source: hit.source || null,
        source_id: hit.sourceId,
        page_id: hit.pageId,
        redirect_id: hit.redirectId,
        email_id: hit.emailId,
      })),
  }),
  fact(AssetDownloadsSchema, ["asset.downloaded"], {
    table: "asset_downloads",
    columns: { id: "uuid", asset_id: "integer", date_added: "timestamptz" },
    rows: ({ downloads }) =>
      // A refused visitor downloaded nothing.
      downloads
        .filter(({ code }) => code < 400)
        .map(({ id, contactId, assetId, dateAdded }) => ({
          id,
          contact_id: contactId,
          asset_id: assetId,
          date_added: timeOf(dateAdded),
        })),
  }),
  fact(SmsSendsSchema, ["sms.sent"], {
    table: "sms_sends",
    columns: { id: "uuid", sms_id: "integer", date_added: "timestamptz" },
    rows: ({ sends }) =>
      // The owner lists those that no provider took, too.
      sends
        .filter(({ dateAdded }) => dateAdded)
        .map(({ id, contactId, smsId, dateAdded }) => ({
          id,
          contact_id: contactId,
          sms_id: smsId,
          date_added: timeOf(dateAdded),
        })),
  }),
  fact(NotificationSendsSchema, ["notification.sent"], {
    table: "notification_sends",
    columns: { id: "uuid", notification_id: "integer", is_mobile: "boolean", date_added: "timestamptz" },
    rows: ({ sends }) =>
      // The owner lists those that no provider took, too.
      sends
        .filter(({ dateAdded }) => dateAdded)
        .map(({ id, contactId, notificationId, isMobile, dateAdded }) => ({
          id,
          contact_id: contactId,
          notification_id: notificationId,
          is_mobile: isMobile,
          date_added: timeOf(dateAdded),
        })),
  }),
  fact(TweetSendsSchema, ["tweet.sent"], {
    table: "tweet_sends",
    columns: { id: "uuid", tweet_id: "integer", date_added: "timestamptz" },
    rows: ({ sends }) =>
      // The owner lists those that no provider took, too.
      sends
        .filter(({ dateAdded }) => dateAdded)
        .map(({ id, contactId, tweetId, dateAdded }) => ({
          id,
          contact_id: contactId,
          tweet_id: tweetId,
          date_added: timeOf(dateAdded),
        })),
  }),
];

function fact<S extends DescMessage>(
  schema: S,
  names: string[],
  replica: Omit<FactReplica<S>, "subjects" | "isListed">,
): AboutContacts {
  const subjects = names.map((name) => `tidings.content.${name}`);
  const listed = { ...replica, subjects, isListed: true };
  return { ...factReplica(schema, contactsNow, listed), table: replica.table };
}
