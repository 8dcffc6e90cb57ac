import { segmentReference } from "@tidings/projection/segments";
import { PointGroupSchema } from "@tidings/proto/tidings/campaign/v1/point_group";
import { categoryReference } from "@tidings/store/category-reference";
import type { Database } from "@tidings/store/database";
import type { ReferenceKind } from "@tidings/store/reference";
import { resourceReference } from "@tidings/store/resource-reference";
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
