import type { FormAction } from "@tidings/proto/tidings/content/v1/form";
import type { Violation } from "@tidings/rpc/fault";
import {
  flag,
  holding,
  html,
  id,
  ids,
  oneOf,
  type PropertyReaders,
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

export function checkAction(action: FormAction, path: string): Violation[] {
  return settleProperties(action, PROPERTIES.get(action.type) ?? {}, `${path}.properties`);
}

function addressOf(value: unknown): unknown {
  return value === "" || (typeof value === "string" && isWebAddress(value)) ? value : undefined;
}
