import type { Database } from "@tidings/database/database";
import { segmentReference } from "@tidings/projection/segments";
import { AssetSchema } from "@tidings/proto/tidings/content/v1/asset";
import { DynamicContentSchema } from "@tidings/proto/tidings/content/v1/dynamic_content";
import { EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import { FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { PageSchema } from "@tidings/proto/tidings/content/v1/page";
import { categoryReference } from "@tidings/resource/category-reference";
import type { ReferenceKind } from "@tidings/resource/reference";
import { resourceReference } from "@tidings/resource/resource-reference";

/** The members that variants show of their parent, and a parent of its variants. */
export const EMAIL_SHOWN = `json_build_object('id', id, 'name', name, 'subject', subject, 'language', language,
  'isPublished', is_published, 'variantSettings', variant_settings)`;
export const PAGE_SHOWN = `json_build_object('id', id, 'title', title, 'alias', alias, 'language', language,
  'isPublished', is_published, 'variantSettings', variant_settings)`;
export const DYNAMIC_CONTENT_SHOWN =
  "json_build_object('id', id, 'name', name, 'language', language, 'isPublished', is_published)";
/** A reference that is answered as its id alone. */
const ID = "to_json(id)";

/** The references of this service's resources. */
export function references(database: Database): Record<string, ReferenceKind> {
  return {
    category: categoryReference(database),
    segment: segmentReference(database),
    asset: resourceReference(AssetSchema, ID),
    form: resourceReference(FormSchema, ID),
    email: resourceReference(EmailSchema, EMAIL_SHOWN),
    page: resourceReference(PageSchema, PAGE_SHOWN),
    dynamic_content: resourceReference(DynamicContentSchema, DYNAMIC_CONTENT_SHOWN),
  };
}
