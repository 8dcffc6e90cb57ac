import { isAllowedUrl, type Range } from "@tidings/outbound/address";
import type { FormAction } from "@tidings/proto/tidings/content/v1/form";
import type { Violation } from "@tidings/rpc/fault";
import { notValid } from "@tidings/store/json-member";
import {
  flag,
  holding,
  html,
  id,
  ids,
  oneOf,
  type PropertyReaders,
  propertiesOf,
  settleProperties,
  text,
  texts,
  wholeNumber,
} from "@tidings/store/properties";
import { isWebAddress } from "../web-address.ts";

const points = wholeNumber();

/** What each type of action is told. Other types are kept, and ignored when the form is submitted. */
const PROPERTIES: ReadonlyMap<string, PropertyReaders> = new Map<string, PropertyReaders>([
  ["email.send.user", { useremail: holding("email", id), user_id: ids }],
  ["email.send.lead", { email: id }],
  [
    "form.email",
    {
      subject: text,
      message: html,
      copy_lead: flag,
      set_replyto: flag,
      email_to_owner: flag,
      immediately: flag,
      to: text,
      cc: text,
      bcc: text,
    },
  ],
  ["form.repost", { post_url: addressOf, authorization_header: text, failure_email: text }],
  ["plugin.leadpush", { integration: text }],
  ["lead.pointschange", { operator: oneOf("plus", "minus", "times", "divide"), points, group: id }],
  ["lead.changelist", { addToLists: ids, removeFromLists: ids }],
  ["lead.changetags", { add_tags: texts, remove_tags: texts }],
  ["lead.scorecontactscompanies", { score: (value: unknown) => points(value) || undefined }],
  ["asset.download", { asset: id, category: id, message: html }],
]);

/** Brings the properties of an action into form, in place. An address that stays as it was is not judged again. */
export function checkAction(
  action: FormAction,
  path: string,
  { before, allowed }: { before: FormAction | undefined; allowed: Range[] },
): Violation[] {
  const violations = settleProperties(action, PROPERTIES.get(action.type) ?? {}, `${path}.properties`);
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
