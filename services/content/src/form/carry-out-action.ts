import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ContactCommandSchema } from "@tidings/proto/tidings/contact/v1/command";
import type { Form, FormAction } from "@tidings/proto/tidings/content/v1/form";
import { jsonBytes } from "@tidings/resource/json-member";
import { propertiesOf } from "@tidings/resource/properties";
import { textOf } from "@tidings/runtime/plain-text";
import { NO_TRANSPORT } from "../send/mail-parts.ts";
import type { CommandContact } from "../visit/contact-command.ts";
import type { ActionOutcome } from "./action-outcome.ts";
import { ADD_UTM_TAGS } from "./came-by.ts";
import { ASSET_DOWNLOAD } from "./offered-download.ts";
import { REPOST } from "./repost.ts";

interface Acting {
  form: Form;
  action: FormAction;
  /** The key of the submission. */
  key: string;
  /** 0 where nobody knows. */
  contactId: number;
  /** The visitor came by a campaign. */
  isByCampaign: boolean;
}

type Effect = MessageInitShape<typeof ContactCommandSchema>["effect"];

/** Mails to users and to addresses. */
export const NOTICES: ReadonlySet<string> = new Set(["email.send.user", "form.email"]);
/** An email to the contact. */
export const SEND_EMAIL = "email.send.lead";
/**
 * The answer to the submission offers a download, a job of its own does a repost, mails are chosen with the outcome of their action, and the campaign is
 * recorded when the submission is given to its contact.
 */
const ELSEWHERE = new Set([ADD_UTM_TAGS, ASSET_DOWNLOAD, REPOST, SEND_EMAIL, ...NOTICES]);
/** Campaign forms do no more than this. */
const OF_CAMPAIGN_FORMS = new Set([
  "lead.changetags",
  ADD_UTM_TAGS,
  "lead.remove_do_not_contact",
  "email.send.user",
  "form.email",
  REPOST,
  ASSET_DOWNLOAD,
  "plugin.leadpush",
]);

/**
 * Carries out one action of a form for one submission (engines.md 5.6). What it does to the contact is a command with a key of submission and
 * action: it takes effect once however often it is tried. Throws while the contact service is away.
 */
export async function carryOutAction(
  { command, hasTransport }: { command: CommandContact; hasTransport: boolean },
  acting: Acting,
): Promise<ActionOutcome> {
  const { form, action } = acting;
  const outcome = (state: ActionOutcome["state"], reason?: string): ActionOutcome => ({
    actionId: action.id,
    type: action.type,
    state,
    reason,
  });
  const effect = standingOf(form, action);
  const isOfCampaign = effect === "done" && action.type === ADD_UTM_TAGS;
  if (isOfCampaign && !acting.isByCampaign) return outcome("ignored", "The visitor came by no campaign.");
  const isEmail = effect === "done" && action.type === SEND_EMAIL;
  const isMail = isEmail || (effect === "done" && NOTICES.has(action.type));
  if (isMail && !hasTransport) return outcome("refused", NO_TRANSPORT);
  if (typeof effect === "string" && !isEmail && !isOfCampaign) return outcome(effect);
  if (acting.contactId === 0) return outcome("refused", "Nobody knows whose submission this is.");
  if (typeof effect === "string") return outcome(effect);
  const key = `form:${acting.key}:${action.id}`;
  const carriedOut = await command({ key, contactId: acting.contactId, effect });
  return carriedOut?.reason ? outcome("refused", carriedOut.message) : outcome("done");
}

/** Says whether an action is ignored, is done elsewhere, or changes the contact. */
export function standingOf(form: Form, action: FormAction): "ignored" | "done" | Exclude<Effect, undefined> {
  if (form.formType === "campaign" && !OF_CAMPAIGN_FORMS.has(action.type)) return "ignored";
  if (ELSEWHERE.has(action.type)) return "done";
  return effectOf(form, action) ?? "ignored";
}

/** The change of the contact that an action is; undefined for an action that is none. */
function effectOf(form: Form, action: FormAction): Effect | undefined {
  const properties = propertiesOf(action);
  switch (action.type) {
    case "lead.pointschange":
      return points(form, properties);
    case "lead.changelist":
      return {
        case: "segments",
        value: { add: idsOf(properties.addToLists), remove: idsOf(properties.removeFromLists) },
      };
    case "lead.changetags": {
      const removed = textsOf(properties.remove_tags).map((tag) => `-${tag}`);
      return edit({ tags: [...textsOf(properties.add_tags), ...removed] });
    }
    case "lead.remove_do_not_contact":
      return edit({ doNotContact: [{ channel: "email", reason: 0 }] });
    case "lead.scorecontactscompanies":
      return { case: "company", value: { companyId: 0, action: "score", score: numberOf(properties.score) } };
    default:
      return undefined;
  }
}

function points(form: Form, properties: Record<string, unknown>): Effect {
  const groupId = numberOf(properties.group);
  return {
    case: "points",
    value: {
      operator: textOf(properties.operator) || "plus",
      delta: numberOf(properties.points),
      ...(groupId > 0 && { groupId }),
      type: "form",
      eventName: `${form.id}:${form.name}`,
      actionName: "form.submit",
    },
  };
}

function edit(members: object): Effect {
  return { case: "edit", value: { body: jsonBytes(members) } };
}

function numberOf(value: unknown): number {
  return Number(textOf(value) ?? 0) || 0;
}

export function idsOf(value: unknown): number[] {
  return Array.isArray(value) ? value.map(numberOf).filter((id) => id > 0) : [];
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.flatMap((text) => textOf(text) ?? []) : [];
}
