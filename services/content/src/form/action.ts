import { isAllowedUrl, type Range } from "@tidings/outbound/address";
import { PointGroupSchema } from "@tidings/proto/tidings/campaign/v1/point_group";
import { SegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import { AssetSchema } from "@tidings/proto/tidings/content/v1/asset";
import { CategorySchema } from "@tidings/proto/tidings/content/v1/category";
import { EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import type { FormAction } from "@tidings/proto/tidings/content/v1/form";
import { UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import { notValid } from "@tidings/resource/json-member";
import {
  flag,
  holding,
  html,
  id,
  ids,
  naming,
  oneOf,
  propertiesOf,
  resolveProperties,
  text,
  texts,
  wholeNumber,
} from "@tidings/resource/properties";
import type { TypeNeeds } from "@tidings/resource/typed-needs";
import type { Violation } from "@tidings/rpc/fault";
import type { SecretBox } from "@tidings/secrets/secret-box";
import { EDIT_CONTACTS } from "@tidings/service/rights";
import { isWebAddress } from "../family/web-address.ts";
import { sealHeader } from "./repost-secret.ts";

const points = wholeNumber();
const email = naming(EmailSchema, id);
const segments = naming(SegmentSchema, ids);

const type = (properties: TypeNeeds["properties"], right?: TypeNeeds["right"]): TypeNeeds => ({
  properties,
  ...(right && { right }),
});

/** The types of actions. Others are kept, and ignored when the form is submitted. */
export const actionTypes: ReadonlyMap<string, TypeNeeds> = new Map<string, TypeNeeds>([
  ["email.send.user", type({ useremail: holding("email", email), user_id: naming(UserSchema, ids) })],
  ["email.send.lead", type({ email })],
  [
    "form.email",
    type({
      subject: text,
      message: html,
      copy_lead: flag,
      set_replyto: flag,
      email_to_owner: flag,
      immediately: flag,
      to: text,
      cc: text,
      bcc: text,
    }),
  ],
  ["form.repost", type({ post_url: addressOf, authorization_header: text, failure_email: text })],
  ["plugin.leadpush", type({ integration: text })],
  [
    "lead.pointschange",
    type(
      { operator: oneOf("plus", "minus", "times", "divide"), points, group: naming(PointGroupSchema, id) },
      EDIT_CONTACTS,
    ),
  ],
  ["lead.changelist", type({ addToLists: segments, removeFromLists: segments }, EDIT_CONTACTS)],
  ["lead.changetags", type({ add_tags: texts, remove_tags: texts }, EDIT_CONTACTS)],
  [
    "lead.scorecontactscompanies",
    type({ score: (value: unknown) => points(value) || undefined }, EDIT_CONTACTS),
  ],
  [
    "asset.download",
    type({ asset: naming(AssetSchema, id), category: naming(CategorySchema, id), message: html }),
  ],
]);

/** Brings the properties of an action into form, in place. An address that stays as it was is not judged again. */
export function checkAction(
  action: FormAction,
  path: string,
  { before, allowed, box }: { before: FormAction | undefined; allowed: Range[]; box: SecretBox },
): Violation[] {
  const violations = resolveProperties(
    action,
    actionTypes.get(action.type)?.properties ?? {},
    `${path}.properties`,
  );
  if (violations.length === 0) sealHeader(action, before, box);
  const { post_url: url } = propertiesOf(action);
  const isNew = !before || propertiesOf(before).post_url !== url;
  if (
    violations.length > 0 ||
    action.type !== "form.repost" ||
    !isNew ||
    typeof url !== "string" ||
    url === ""
  )
    return violations;
  return isAllowedUrl(new URL(url), allowed)
    ? []
    : [notValid(`${path}.properties.post_url`, "This address is not public.")];
}

function addressOf(value: unknown): unknown {
  return value === "" || (typeof value === "string" && isWebAddress(value)) ? value : undefined;
}
