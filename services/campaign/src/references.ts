import { segmentReference } from "@tidings/projection/segments";
import { categoryReference } from "@tidings/store/category-reference";
import type { Database } from "@tidings/store/database";
import type { ReferenceKind } from "@tidings/store/reference";
import { formReference } from "./campaign/form.ts";

/** What things of this service refer to. */
export function references(database: Database): Record<string, ReferenceKind> {
  return {
    category: categoryReference(database),
    segment: segmentReference(database),
    form: formReference(database),
  };
}
