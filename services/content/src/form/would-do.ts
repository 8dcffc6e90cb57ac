import type { Form, FormAction } from "@tidings/proto/tidings/content/v1/form";
import { propertiesOf } from "@tidings/resource/properties";
import { textOf } from "@tidings/runtime/plain-text";
import { ADD_UTM_TAGS } from "./came-by.ts";
import { standingOf } from "./carry-out-action.ts";

/** A sentence without a subject about what an action of a form does to whoever sends it: "plus 7 points". */
export function wouldDo(form: Form, action: FormAction): string {
  const standing = standingOf(form, action);
  if (standing === "ignored")
    return form.formType === "campaign" ? "nothing: not in a form of a campaign" : "nothing";
  return textOfAction(action);
}

function textOfAction({ type, properties: json }: FormAction): string {
  const properties = propertiesOf({ properties: json });
  const text = (name: string) => textOf(properties[name]) ?? "";
  switch (type) {
    case "lead.pointschange":
      return `${text("operator") || "plus"} ${text("points") || 0} points${text("group") ? ` of group ${text("group")}` : ""}`;
    case "lead.changelist":
      return changed("segments", properties.addToLists, properties.removeFromLists);
    case "lead.changetags":
      return changed("tags", properties.add_tags, properties.remove_tags);
    case ADD_UTM_TAGS:
      return "record the campaign that the visitor came by";
    case "lead.remove_do_not_contact":
      return "allow emails again";
    case "lead.scorecontactscompanies":
      return `add ${text("score") || 0} to the score of the contact's companies`;
    case "email.send.lead":
      return `send email ${text("email")} to the contact`;
    case "email.send.user":
      return "send an email to users";
    case "form.email":
      return "send the results by email";
    case "form.repost":
      return `post the results to ${hostOf(text("post_url"))}`;
    case "asset.download":
      return "offer a download";
    default:
      return type;
  }
}

function changed(what: string, added: unknown, removed: unknown): string {
  const list = (value: unknown) => (Array.isArray(value) ? value.map((item) => textOf(item) ?? "") : []);
  const parts = [
    list(added).length > 0 && `add ${what} ${list(added).join(", ")}`,
    list(removed).length > 0 && `remove ${what} ${list(removed).join(", ")}`,
  ].filter((part) => part !== false);
  return parts.join("; ") || "nothing";
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "another system";
}
