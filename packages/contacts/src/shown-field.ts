import type { Row } from "@tidings/database/statement";

/** The owner of a field, under the names the API uses for contacts and companies. */
export type FieldObject = "lead" | "company";

export const FIELD_GROUPS = ["core", "social", "personal", "professional"] as const;
export type FieldGroup = (typeof FIELD_GROUPS)[number];

export interface FieldOption {
  label: string;
  value: string;
}

export interface FieldProperties {
  list?: FieldOption[];
  scale?: number;
  roundmode?: number;
  yes?: string;
  no?: string;
}

/** A field of a contact or a company, as far as showing its values needs it. */
export interface ShownField {
  id: number;
  object: FieldObject;
  alias: string;
  label: string;
  type: string;
  group: FieldGroup;
  order: number;
  isPublished: boolean;
  isFixed: boolean;
  defaultValue: string | null;
  properties: FieldProperties;
  /** Shipped fields are columns, named by their alias; the values of added ones are kept together. */
  isColumn: boolean;
}

/** Ids of shipped fields, which are columns, end here. */
export const SHIPPED_ID_MAX = 43;

export function shownField(row: Row): ShownField {
  return {
    id: Number(row.id),
    object: row.object as FieldObject,
    alias: row.alias ?? "",
    label: row.label ?? "",
    type: row.type ?? "text",
    group: (row.group ?? "core") as FieldGroup,
    order: Number(row.order),
    isPublished: row.is_published === "t",
    isFixed: row.is_fixed === "t",
    defaultValue: row.default_value ?? null,
    properties: JSON.parse(row.properties ?? "{}"),
    isColumn: Number(row.id) <= SHIPPED_ID_MAX,
  };
}
