import { fromBinary } from "@bufbuild/protobuf";
import { pointTriggers, ungroupTriggers } from "@tidings/contacts/point-colors";
import { prepared } from "@tidings/database/database";
import { categories } from "@tidings/projection/categories";
import { newestEvents } from "@tidings/projection/newest";
import type { Projection } from "@tidings/projection/projection";
import { replicate } from "@tidings/projection/replicate";
import { PointGroupSchema } from "@tidings/proto/tidings/campaign/v1/point_group";
import { StageSchema } from "@tidings/proto/tidings/campaign/v1/stage";
import { EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import { UserSchema } from "@tidings/proto/tidings/identity/v1/user";

const owners = replicate(UserSchema, {
  table: "owners",
  columns: { username: "text", first_name: "text", last_name: "text" },
  row: ({ username, firstName, lastName }) => ({ username, first_name: firstName, last_name: lastName }),
});

const stages = replicate(StageSchema, {
  table: "stages",
  columns: {
    name: "text",
    description: "text",
    weight: "integer",
    is_published: "boolean",
    category_id: "integer",
  },
  row: ({ name, description, weight, isPublished, category }) => ({
    name,
    description,
    weight: weight ?? 0,
    is_published: isPublished ?? false,
    category_id: category?.id,
  }),
});

/** The scores in a group go with its row. */
const pointGroups = replicate(PointGroupSchema, {
  table: "point_groups",
  columns: { name: "text", description: "text" },
  row: ({ name, description }) => ({ name, description }),
  changed(transaction, { gone }) {
    ungroupTriggers(transaction, gone);
  },
});

const emailStatement = prepared(
  "project_email_segments",
  `with sent as (
     select x.id as email_id, (segment.value #>> '{}')::integer as segment_id
     from json_to_recordset($2::json) as x (id integer, segment_ids jsonb), jsonb_array_elements(x.segment_ids) segment),
   dropped as (
     delete from email_segments e where e.email_id = any($1::integer[])
       and not exists (select from sent s where s.email_id = e.email_id and s.segment_id = e.segment_id))
   insert into email_segments (email_id, segment_id) select distinct email_id, segment_id from sent
   on conflict do nothing`,
);

/** Which segments an email goes to. */
const emailSegments: Projection = {
  owner: "content",
  subjects: ["created", "updated", "deleted"].map((verb) => `tidings.content.email.${verb}`),
  rebuilt: { name: "email_segments", type: EmailSchema.typeName },
  async keep(transaction, events) {
    const latest = await newestEvents(transaction, "email_segments", events);
    const ids = latest.map(({ aggregateId }) => aggregateId);
    const rows = latest
      .filter(({ subject }) => !subject.endsWith(".deleted"))
      .map(({ aggregateId, payload }) => ({
        id: aggregateId,
        segment_ids: fromBinary(EmailSchema, payload).lists.map(({ id }) => id),
      }));
    transaction.execute(emailStatement, [ids, JSON.stringify(rows)]);
    return ids;
  },
};

/** SQL of a migration. */
export const EMAILS_TABLE = `create table emails (
  id integer primary key, version integer not null, variant_parent_id integer, translation_parent_id integer,
  excluded_segment_ids integer[] not null)`;

/** The family of an email, of which a contact gets one mail, the segments that get none, and the category that contacts may refuse. */
const emails = replicate(EmailSchema, {
  table: "emails",
  columns: {
    variant_parent_id: "integer",
    translation_parent_id: "integer",
    excluded_segment_ids: "integer[]",
    category_id: "integer",
  },
  row: ({ variantParent, translationParent, excludedLists, category }) => ({
    variant_parent_id: variantParent?.id,
    translation_parent_id: translationParent?.id,
    excluded_segment_ids: excludedLists.map(({ id }) => id),
    category_id: category?.id,
  }),
});

/** Entities of other services that contacts and segments refer to. */
export const entities: Projection[] = [
  owners,
  stages,
  pointTriggers,
  pointGroups,
  categories(["segments", "stages"]),
  emailSegments,
  emails,
];
