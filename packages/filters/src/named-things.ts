import type { DescMessage } from "@bufbuild/protobuf";
import { CampaignSchema } from "@tidings/proto/tidings/campaign/v1/campaign";
import { StageSchema } from "@tidings/proto/tidings/campaign/v1/stage";
import { SegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import { AssetSchema } from "@tidings/proto/tidings/content/v1/asset";
import { CategorySchema } from "@tidings/proto/tidings/content/v1/category";
import { EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import { UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import { isObject, jsonBytes } from "@tidings/resource/json-member";
import type { NamedThings } from "@tidings/resource/needs";
import { ids, naming, thingsNamedIn } from "@tidings/resource/properties";

/** The fields of filters whose values are ids, and of what. */
export const thingsByField: ReadonlyMap<string, DescMessage> = new Map<string, DescMessage>([
  ["campaign", CampaignSchema],
  ["globalcategory", CategorySchema],
  ["lead_asset_download", AssetSchema],
  ["lead_email_received", EmailSchema],
  ["lead_email_sent", EmailSchema],
  ["leadlist", SegmentSchema],
  ["owner_id", UserSchema],
  ["stage", StageSchema],
]);

/** The entities that a list of filters of contacts names; `path` leads to it. The value stands in the filter or in its properties. */
export function thingsNamedInFilters(filters: unknown, path: string): NamedThings[] {
  if (typeof filters !== "object" || filters === null) return [];
  return Object.values(filters).flatMap((filter: unknown, index): NamedThings[] => {
    if (!isObject(filter) || filter.object === "company" || typeof filter.field !== "string") return [];
    const schema = thingsByField.get(filter.field);
    if (!schema) return [];
    const { properties } = filter;
    const value = filter.filter ?? (isObject(properties) ? properties.filter : undefined);
    return thingsNamedIn(jsonBytes({ filter: value }), { filter: naming(schema, ids) }, `${path}[${index}]`);
  });
}
