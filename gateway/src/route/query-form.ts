import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { badRequest } from "@tidings/rpc/fault";
import { DATE_FORMS, parseDateText } from "@tidings/runtime/date-text";
import { type ListLimits, type ListParameters, readListParameters } from "../rest/list-query.ts";
import { ID_MAX } from "../rest/path-id.ts";
import type { Query } from "../rest/query.ts";
import { type Schema, TEXT } from "./schema.ts";

/** A parameter of a query, as OpenAPI describes it. */
export interface QueryParameter {
  name: string;
  description: string;
  schema: Schema;
  /** A value that has members is sent with brackets: `where[0][col]=name`. */
  style?: "deepObject";
}

/** The parameters of a query, and how they are read together. */
export interface QueryForm<Q> {
  parameters: QueryParameter[];
  read(query: Query): Q;
}

export const SWITCH: Schema = { type: "string", enum: ["0", "1", "true", "false"] };

export const NO_QUERY: QueryForm<undefined> = { parameters: [], read: () => undefined };

export const SELECT: QueryParameter = {
  name: "select[]",
  description:
    "Members to answer; all when absent. Others are left out then, and those that are null, whatever is `required`",
  schema: { type: "array", items: TEXT },
};

export const CURSOR: QueryParameter = {
  name: "cursor",
  description:
    'Pages by cursor: empty for the first one; the header `Link` has the path of the next one (`rel="next"`). In place of `start`',
  schema: { type: "string", maxLength: 8_000 },
};

/** The parameters of every list. */
export const LIST_PARAMETERS: QueryParameter[] = [
  {
    name: "search",
    description: "Words, and commands such as `is:published`",
    schema: { type: "string", maxLength: 1_000 },
  },
  {
    name: "start",
    description: "Rows to skip",
    schema: { type: "integer", minimum: 0, maximum: 10_000_000 },
  },
  {
    name: "limit",
    description: "Rows to answer; 0 means as many as are allowed",
    schema: { type: "integer", minimum: 0 },
  },
  {
    name: "orderBy",
    description: "Columns, separated by commas",
    schema: { type: "string", maxLength: 1_000 },
  },
  {
    name: "orderByDir",
    description: "The direction of `orderBy`",
    schema: { type: "string", enum: ["asc", "desc", "ASC", "DESC"] },
  },
  {
    name: "order",
    description: "Columns with a direction each: `order[0][col]=name&order[0][dir]=desc`",
    schema: { type: "object" },
    style: "deepObject",
  },
  {
    name: "where",
    description:
      "Conditions: `where[0][col]=name&where[0][expr]=eq&where[0][val]=a`; `andX` and `orX` nest others in `val`",
    schema: { type: "object" },
    style: "deepObject",
  },
  CURSOR,
  {
    name: "count",
    description: "`none` leaves `total` out, which need not be counted then",
    schema: { type: "string", enum: ["exact", "none"] },
  },
  SELECT,
  { name: "publishedOnly", description: "Leaves out rows that are not published", schema: SWITCH },
  {
    name: "minimal",
    description: "Fewer members than are `required`, where the resource has a short form",
    schema: SWITCH,
  },
];

const PAGE_SIZE_MAX = 500;

/** A page of a list that has one order and no filters. */
export function pageQuery(limits: ListLimits): QueryForm<ListParameters> {
  const bounded = { ...limits, limitMax: Math.min(limits.limitMax, PAGE_SIZE_MAX) };
  return {
    parameters: LIST_PARAMETERS.filter(({ name }) => name === "start" || name === "limit"),
    read: ({ start, limit }) => readListParameters({ start, limit }, bounded),
  };
}

const IDS_MAX = 1_000;

/** `name[]=1&name[]=2`. Throws INVALID_ARGUMENT for a value that is no number; a number that no row can have names nothing. */
export function idsQuery(name: string): QueryForm<number[]> {
  const schema = { type: "array", items: { type: "integer", minimum: 0 }, maxItems: IDS_MAX };
  return {
    parameters: [{ name: `${name}[]`, description: "Ids", schema }],
    read({ [name]: sent }) {
      const texts = typeof sent === "object" && sent !== null ? Object.values(sent) : sent ? [sent] : [];
      if (texts.length > IDS_MAX) throw badRequest(`At most ${IDS_MAX} ids are supported.`);
      if (!texts.every((text) => typeof text === "string" && /^\d{1,15}$/.test(text)))
        throw badRequest(`${name} must be a list of ids.`);
      return texts.map(Number).filter((id) => id > 0 && id <= ID_MAX);
    },
  };
}

const NAME_LENGTH_MAX = 191;

export interface NameFilter {
  filter: string;
  limit: number;
  start: number;
}

/** A page of a list of names that contain `filter`. */
export function nameFilterQuery(limits: ListLimits): QueryForm<NameFilter> {
  return {
    parameters: [
      {
        name: "filter",
        description: "A part of the name",
        schema: { type: "string", maxLength: NAME_LENGTH_MAX },
      },
      ...LIST_PARAMETERS.filter(({ name }) => name === "limit" || name === "start"),
    ],
    read({ filter = "", limit, start }) {
      if (typeof filter !== "string" || filter.length > NAME_LENGTH_MAX)
        throw badRequest("filter is not valid.");
      const { query } = readListParameters({ limit, start }, limits);
      return { filter, limit: query.pageSize, start: query.skip };
    },
  };
}

/** One text. */
export function textQuery(name: string, description: string): QueryForm<string> {
  return {
    parameters: [{ name, description, schema: TEXT }],
    read: ({ [name]: sent }) => (typeof sent === "string" ? sent : ""),
  };
}

/** An id in a query; 0 where it is not sent. Throws INVALID_ARGUMENT for anything else. */
export function idIn(name: string, value: unknown): number {
  if (value === undefined) return 0;
  const id = Number(value);
  if (typeof value === "string" && Number.isInteger(id) && id >= 1 && id <= ID_MAX) return id;
  throw badRequest(`${name} is a whole number from 1 to ${ID_MAX}.`);
}

/** A date and time in a query. Throws INVALID_ARGUMENT for any other text. */
export function timeIn(name: string, value: unknown): Timestamp {
  const milliseconds = typeof value === "string" ? parseDateText(value) : undefined;
  if (milliseconds === undefined) throw badRequest(`${name} is ${DATE_FORMS}.`);
  return timestampFromMs(milliseconds);
}
