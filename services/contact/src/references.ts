import type { Database } from "@tidings/database/database";
import { categoryReference } from "@tidings/resource/category-reference";
import type { ReferenceKind } from "@tidings/resource/reference";
import { contactReference } from "./belonging/contact-reference.ts";
import type { FieldCatalogues } from "./field/catalogue.ts";

/** The kinds of entities that the resources of this service refer to. */
export function references(database: Database, catalogues: FieldCatalogues): Record<string, ReferenceKind> {
  return { contact: contactReference(catalogues), category: categoryReference(database) };
}
