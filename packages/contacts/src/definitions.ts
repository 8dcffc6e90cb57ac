import { type Database, prepared } from "@tidings/database/database";
import type { Projection } from "@tidings/projection/projection";
import { replicate } from "@tidings/projection/replicate";
import { FieldSchema } from "@tidings/proto/tidings/contact/v1/field";
import { jsonOf } from "@tidings/resource/json-member";
import type { ShownFields } from "./fields-json.ts";
import {
  POINT_TRIGGERS_TABLE,
  type PointColor,
  pointTriggers,
  readColors,
  ungroupTriggers,
} from "./point-colors.ts";
import { shownField } from "./shown-field.ts";

/** Definitions that are needed besides a snapshot to show a contact or a company, as of one moment. */
export interface Definitions {
  contact: ShownFields;
  company: ShownFields;
  /** Aliases of all fields, the unpublished among them. */
  aliases: ReadonlySet<string>;
  colors: PointColor[];
  /** False until the replicas were built from all that their owners have. */
  isComplete: boolean;
}

export interface DefinitionReader {
  /** At most a second old. */
  current(): Promise<Definitions>;
  /** As this service knows them now: its replicas follow the events of their owners. */
  latest(): Promise<Definitions>;
}

/** Tables of the replicas. */
export const DEFINITION_TABLES = [
  `create table fields (
     id integer primary key, version integer not null, object text not null, alias text not null, label text not null, type text not null,
     field_group text not null, field_order integer not null, is_published boolean not null, is_fixed boolean not null,
     default_value text, properties jsonb not null)`,
  POINT_TRIGGERS_TABLE,
];

/** Replicas of the definitions of fields, and of the point triggers that colour contacts. */
export const definitionProjections: Projection[] = [
  replicate(FieldSchema, {
    table: "fields",
    columns: {
      object: "text",
      alias: "text",
      label: "text",
      type: "text",
      field_group: "text",
      field_order: "integer",
      is_published: "boolean",
      is_fixed: "boolean",
      default_value: "text",
      properties: "jsonb",
    },
    row: ({ object, alias, label, type, group, order, isPublished, isFixed, defaultValue, properties }) => ({
      object,
      alias,
      label,
      type,
      field_group: group,
      field_order: order ?? 0,
      is_published: isPublished ?? false,
      is_fixed: isFixed,
      default_value: defaultValue ?? null,
      properties: jsonOf(properties) ?? {},
    }),
  }),
  pointTriggers,
  {
    owner: "campaign",
    subjects: ["tidings.campaign.point_group.deleted"],
    async keep(transaction, events) {
      const groupIds = events.map(({ aggregateId }) => aggregateId);
      ungroupTriggers(transaction, groupIds);
      return groupIds;
    },
  },
];

const FRESH_MS = 1_000;
const LOOK_UP_MS = 3_000;
const fieldsStatement = prepared(
  "shown_fields",
  `select *, field_group as "group", field_order as "order" from fields order by field_order, id`,
);

const buildsStatement = prepared(
  "definitions_built",
  "select count(*) as built from projection_builds where name in ('fields', 'point_triggers') and (done_at is not null or is_beside)",
);
const BUILDS = 2;

export function definitionReader(database: Database): DefinitionReader {
  let known: Promise<Definitions> | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  const latest = (): Promise<Definitions> => {
    readAtMs = performance.now();
    const reading = readDefinitions(database);
    known = reading;
    reading.catch(() => {
      if (known === reading) known = undefined;
    });
    return reading;
  };
  return {
    latest,
    current: () => (known && performance.now() - readAtMs < FRESH_MS ? known : latest()),
  };
}

async function readDefinitions(database: Database): Promise<Definitions> {
  const deadlineMs = Date.now() + LOOK_UP_MS;
  const [builds, rows, colors] = await Promise.all([
    database.query(buildsStatement, [], deadlineMs),
    database.query(fieldsStatement, [], deadlineMs),
    readColors(database, deadlineMs),
  ]);
  const fields = rows.map(shownField);
  const shown = (object: ShownFields["object"]): ShownFields => ({
    object,
    fields: fields.filter((field) => field.isPublished && field.object === object),
  });
  return {
    contact: shown("lead"),
    company: shown("company"),
    aliases: new Set(fields.map(({ alias }) => alias)),
    colors,
    isComplete: Number(builds[0]?.built) === BUILDS,
  };
}
