import {
  type FocusItem,
  FocusItemSchema,
  type FocusMethodService,
} from "@tidings/proto/tidings/content/v1/focus_item";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { repository } from "@tidings/resource/repository";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { Fault } from "@tidings/rpc/fault";
import { checkUtmTags } from "../family/utm-tags.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import { focusScript } from "./focus-script.ts";

export function focusItems(context: ResourceContext): Repository<FocusItem> {
  return repository<FocusItem>(context, FocusItemSchema, { prepare: (draft) => checkUtmTags(draft) });
}

/** The script that shows an item, with its form. */
export type ItemScript = (item: FocusItem, call: Call) => Promise<string>;

export function itemScript(forms: Repository<Form>, settings: VisitSettings): ItemScript {
  return async (item, call) => {
    const form = item.form && (await publishedForm(forms, item.form.id, call));
    return focusScript(item, form?.cachedHtml, settings);
  };
}

/** The methods of focus items beyond the standard ones. */
export function focusMethods(
  items: Repository<FocusItem>,
  script: ItemScript,
): Handlers<typeof FocusMethodService> {
  return {
    async renderFocusItem({ id }, call) {
      return { script: await script(await items.get(id, call), call) };
    },
  };
}

/** A form that an item shows to visitors is visible to callers who may see the item. */
async function publishedForm(forms: Repository<Form>, id: number, call: Call): Promise<Form | undefined> {
  const form = await forms.get(id, { ...call, reach: () => "all" }).catch((error) => {
    if (error instanceof Fault && error.reason === "NOT_FOUND") return undefined;
    throw error;
  });
  return form?.isPublished ? form : undefined;
}
