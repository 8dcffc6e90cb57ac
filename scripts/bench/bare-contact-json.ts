/** Columns in Postgres' text form. */
export type BareRow = Record<string, string | null>;

const GROUPS = ["core", "social", "personal", "professional"];

/** Writes the JSON of our API for rows of contacts, from the definitions of their fields. */
export function bareContactWriter(fields: BareRow[]): (row: BareRow) => string {
  const groups = GROUPS.map((group) => ({
    opening: `${JSON.stringify(group)}:{`,
    fields: fields.filter((field) => field.group === group).map(fieldEntry),
  }));
  const aliases = fields.map(({ alias, type }) => ({ alias: alias ?? "", type, key: `,"${alias}":` }));
  return (row) => {
    const written = groups.map(
      ({ opening, fields }) =>
        `${opening}${fields.map(({ alias, type, text }) => fieldText(text, value(row[alias], type))).join()}}`,
    );
    const all = aliases.map(({ alias, type, key }) => key + value(row[alias], type)).join("");
    return `${plainMembers(row)},"fields":{${written.join()},"all":{"id":${row.id}${all}}}}`;
  };
}

function plainMembers(row: BareRow): string {
  return JSON.stringify({
    id: Number(row.id),
    isPublished: row.is_published === "t",
    dateAdded: time(row.date_added),
    createdBy: row.created_by ? Number(row.created_by) : null,
    createdByUser: row.created_by_user,
    dateModified: time(row.date_modified),
    modifiedBy: row.modified_by ? Number(row.modified_by) : null,
    modifiedByUser: row.modified_by_user,
    points: Number(row.points),
    color: null,
    lastActive: time(row.last_active),
    dateIdentified: time(row.date_identified),
    preferredProfileImage: "gravatar",
    owner: null,
    stage: null,
    ipAddresses: {},
    tags: [],
    utmtags: [],
    doNotContact: [],
    frequencyRules: {},
  }).slice(0, -1);
}

function fieldEntry(field: BareRow) {
  const properties = JSON.parse(field.properties ?? "{}");
  const definition = {
    id: field.id,
    label: field.label,
    alias: field.alias,
    type: field.type,
    group: field.group,
    object: "lead",
    is_fixed: field.is_fixed === "t" ? "1" : "0",
    order: field.order,
    properties: Object.keys(properties).length > 0 ? properties : [],
    default_value: field.default_value,
  };
  const alias = field.alias ?? "";
  const text = `"${alias}":${JSON.stringify(definition).slice(0, -1)},"value":`;
  return { alias, type: field.type ?? "text", text };
}

function fieldText(definition: string, json: string): string {
  return `${definition}${json},"normalizedValue":${json}}`;
}

function value(text: string | null | undefined, type: string | null | undefined): string {
  if (text === null || text === undefined) return "null";
  return type === "number" ? text : JSON.stringify(text);
}

function time(text: string | null | undefined): string | null {
  return text ? `${text.slice(0, 19).replace(" ", "T")}+00:00` : null;
}
