import { checkFilters } from "@tidings/filters/check";
import { thingsNamedInFilters } from "@tidings/filters/named-things";
import { type DynamicContent, DynamicContentSchema } from "@tidings/proto/tidings/content/v1/dynamic_content";
import { jsonOf, notValid } from "@tidings/resource/json-member";
import { repository } from "@tidings/resource/repository";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";
import { type Family, family } from "../family/family.ts";
import { DYNAMIC_CONTENT_SHOWN } from "../family/references.ts";
import { checkUtmTags } from "../family/utm-tags.ts";

export function dynamicContents(context: ResourceContext): Repository<DynamicContent> {
  const variants = family(DynamicContentSchema, DYNAMIC_CONTENT_SHOWN, ["variant"]);
  return repository<DynamicContent, Family>(context, DynamicContentSchema, {
    load: (transaction, _call, messages, ids) => variants.load(transaction, ids, messages),
    prepare(draft, { before, loaded }) {
      const filters = jsonOf(draft.filters);
      const violations = [
        ...checkFilters("filters", filters),
        ...checkUtmTags(draft),
        ...variants.check(draft, before, loaded),
      ];
      if (draft.isCampaignBased) return violations;
      // Content without a campaign is found by its slot, and shown to contacts that match its filters.
      if (!draft.slotName) violations.push(notValid("slotName", "A slot name is required."));
      if (Array.isArray(filters) && filters.length === 0)
        violations.push(notValid("filters", "At least one filter is required."));
      return violations;
    },
    needs: ({ filters }) => thingsNamedInFilters(jsonOf(filters), "filters"),
    show: variants.show,
  });
}
