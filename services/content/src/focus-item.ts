import { type FocusItem, FocusItemSchema } from "@tidings/proto/tidings/content/v1/focus_item";
import { type Repository, type ResourceContext, repository } from "@tidings/store/repository";
import { checkUtmTags } from "./utm-tags.ts";

export function focusItems(context: ResourceContext): Repository<FocusItem> {
  return repository<FocusItem>(context, FocusItemSchema, { prepare: (draft) => checkUtmTags(draft) });
}
