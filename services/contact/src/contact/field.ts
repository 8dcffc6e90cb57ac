import { backgroundDeadline, type Database } from "@tidings/store/database";

/** The definition of one field of a contact. */
export interface Field {
  id: number;
  alias: string;
  label: string;
  type: string;
  group: FieldGroup;
  order: number;
  isFixed: boolean;
  isUniqueIdentifier: boolean;
  defaultValue: string | null;
  properties: { list?: { label: string; value: string }[]; scale?: number; roundmode?: number };
}

export const FIELD_GROUPS = ["core", "social", "personal", "professional"] as const;
export type FieldGroup = (typeof FIELD_GROUPS)[number];

/** All fields of contacts, in the order they are shown. */
export interface FieldCatalogue {
  fields: Field[];
  byAlias: ReadonlyMap<string, Field>;
  identifiers: Field[];
  /** Aliases of the social group: a handle makes a contact known. */
  social: string[];
}

export async function loadFieldCatalogue(database: Database): Promise<FieldCatalogue> {
  const rows = await database.query(
    { text: "select * from fields where object = 'lead' and is_published order by field_order, id" },
    [],
    backgroundDeadline(),
  );
  const fields = rows.map(
    (row): Field => ({
      id: Number(row.id),
      alias: row.alias ?? "",
      label: row.label ?? "",
      type: row.type ?? "text",
      group: (row.field_group ?? "core") as FieldGroup,
      order: Number(row.field_order),
      isFixed: row.is_fixed === "t",
      isUniqueIdentifier: row.is_unique_identifier === "t",
      defaultValue: row.default_value ?? null,
      properties: JSON.parse(row.properties ?? "{}"),
    }),
  );
  return {
    fields,
    byAlias: new Map(fields.map((field) => [field.alias, field])),
    identifiers: fields.filter((field) => field.isUniqueIdentifier),
    social: fields.filter((field) => field.group === "social").map((field) => field.alias),
  };
}
