import { type PointAction, PointActionSchema } from "@tidings/proto/tidings/campaign/v1/point_action";
import { flag, text, wholeNumber } from "@tidings/resource/properties";
import { repository } from "@tidings/resource/repository";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";
import { needsOfTyped } from "@tidings/resource/typed-needs";
import * as named from "../named.ts";
import { type Kind, resolveTyped } from "./kind.ts";

const count = wholeNumber(0);

/** The types of point actions. An empty list means any. */
export const actionKinds: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  [
    "asset.download",
    { label: "Downloads an asset", properties: { assets: named.assets, categories: named.categories } },
  ],
  ["email.send", { label: "Is sent an email", properties: { emails: named.emails } }],
  ["email.open", { label: "Opens an email", properties: { emails: named.emails } }],
  ["form.submit", { label: "Submits a form", properties: { forms: named.forms } }],
  ["page.hit", { label: "Visits a landing page", properties: { pages: named.pages } }],
  [
    "url.hit",
    {
      label: "Visits specific URL",
      required: ["page_url"],
      properties: {
        page_url: text,
        page_hits: count,
        first_time: flag,
        // In seconds; what they are shown in stands beside.
        accumulative_time: count,
        accumulative_time_unit: text,
        returns_within: count,
        returns_within_unit: text,
        returns_after: count,
        returns_after_unit: text,
      },
    },
  ],
]);

export function pointActions(context: ResourceContext): Repository<PointAction> {
  return repository<PointAction>(context, PointActionSchema, {
    prepare: (draft, { before }) => resolveTyped(draft, actionKinds, before),
    needs: (action) => needsOfTyped(action, actionKinds),
  });
}
