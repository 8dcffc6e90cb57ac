import type { Database } from "@tidings/database/database";
import { segmentReference } from "@tidings/projection/segments";
import { PointGroupSchema } from "@tidings/proto/tidings/campaign/v1/point_group";
import { categoryReference } from "@tidings/resource/category-reference";
import type { ReferenceKind } from "@tidings/resource/reference";
import { resourceReference } from "@tidings/resource/resource-reference";
import { formReference } from "./campaign/form.ts";
import { POINT_GROUP_SHOWN } from "./point/service.ts";

/** The kinds of entities that resources of this service refer to. */
export function references(database: Database): Record<string, ReferenceKind> {
  return {
    category: categoryReference(database),
    point_group: resourceReference(PointGroupSchema, POINT_GROUP_SHOWN),
    segment: segmentReference(database),
    form: formReference(database),
  };
}
