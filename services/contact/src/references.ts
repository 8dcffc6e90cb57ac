import { categoryReference } from "@tidings/store/category-reference";
import type { Database } from "@tidings/store/database";
import type { ReferenceKind } from "@tidings/store/reference";
import { contactReference } from "./belonging/contact-reference.ts";
import type { FieldCatalogues } from "./field/catalogue.ts";

/** The kinds of things that the resources of this service refer to. */
export function references(database: Database, catalogues: FieldCatalogues): Record<string, ReferenceKind> {
  return { contact: contactReference(catalogues), category: categoryReference(database) };
}
