/** The lists that clients ask for most, as paths of the API. `@...` stands for a name made by the run. */
export interface MainQuery {
  name: string;
  /** Below /api. */
  path: string;
  /** Which index answers it, as the documentation says. */
  index: string;
  /** A page by cursor, behind so many rows. */
  behind?: number;
}

export const CUSTOM_ALIAS = "bench_code";
export const SEGMENT_ALIAS = "bench-segment";

export function mainQueries(contacts: number): MainQuery[] {
  return [...pages(Math.floor(contacts / 2)), ...searches(contacts)];
}

function pages(deep: number): MainQuery[] {
  return [
    { name: "first page", path: "contacts", index: "contacts_last_active" },
    { name: "page in the middle", path: `contacts?start=${deep}`, index: "contacts_last_active" },
    { name: "cursor in the middle", path: "contacts", index: "contacts_last_active", behind: deep },
    {
      name: "by email, cursor in the middle",
      path: "contacts?orderBy=email",
      index: "contacts_by_email",
      behind: deep,
    },
    {
      name: "by last name, descending",
      path: "contacts?orderBy=lastname&orderByDir=desc",
      index: "contacts_by_lastname",
    },
    {
      name: "by email, in the middle",
      path: `contacts?orderBy=email&start=${deep}`,
      index: "contacts_by_email",
    },
    { name: "newest", path: "contacts?orderBy=dateAdded&orderByDir=desc", index: "contacts_by_date_added" },
    {
      name: "modified last",
      path: "contacts?orderBy=dateModified&orderByDir=desc",
      index: "contact_modified_by_date",
    },
    {
      name: "modified since",
      path: `contacts?${where("dateModified", "gt", "2100-01-01")}&orderBy=dateModified`,
      index: "contact_modified_by_date",
    },
  ];
}

function searches(contacts: number): MainQuery[] {
  const one = `ada.${10 * Math.floor(contacts / 20)}@example.com`;
  return [
    { name: "email equals", path: `contacts?${where("email", "eq", one)}`, index: "contacts_email" },
    {
      name: "last name equals",
      path: `contacts?${where("lastname", "eq", "Lovelace-4242")}`,
      index: "contact_search_text",
    },
    {
      name: "last name is like",
      path: `contacts?${where("lastname", "like", "%lace-4242")}`,
      index: "contact_search_text",
    },
    {
      name: "last name begins",
      path: "contacts?search=lastname:lovelace-4242",
      index: "contact_search_text",
    },
    {
      name: "custom field equals",
      path: `contacts?${where(CUSTOM_ALIAS, "eq", "code 77")}`,
      index: "contacts_custom_terms",
    },
    {
      name: "in a segment",
      path: `contacts?search=segment:${SEGMENT_ALIAS}`,
      index: "contacts_last_active, segment_contacts_pkey",
    },
    { name: "search for a part", path: "contacts?search=lovelace-4242", index: "contact_search_text" },
    { name: "with a tag", path: "contacts?search=tag:bench", index: "contacts_tag_ids" },
  ];
}

/** One clause of a list's `where`. */
export function where(column: string, expr: string, value: string): string {
  const members = { col: column, expr, val: value };
  return Object.entries(members)
    .map(([name, text]) => `where[0][${name}]=${encodeURIComponent(text)}`)
    .join("&");
}
