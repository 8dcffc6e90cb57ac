import {
  type PointTrigger,
  type PointTriggerEvent,
  PointTriggerSchema,
} from "@tidings/proto/tidings/campaign/v1/point_trigger";
import { flag, holding, object, type PropertyReader, text, texts } from "@tidings/resource/properties";
import { repository } from "@tidings/resource/repository";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";
import { needsOfTyped } from "@tidings/resource/typed-needs";
import type { Violation } from "@tidings/rpc/fault";
import { isEmailAddress } from "@tidings/runtime/email-address";
import { EDIT_CONTACTS } from "@tidings/service/rights";
import * as named from "../named.ts";
import { type Kind, resolveTyped } from "./kind.ts";

const CONTACT_FIELD = /^\{contactfield=[a-z0-9_]+\}$/;

/** Joined by commas, or each a field of the contact in which one stands. */
const addresses: PropertyReader = (value) => {
  const read = text(value);
  if (typeof read !== "string" || read === "") return read;
  const sent = read.split(",").map((address) => address.trim());
  const isAddress = (address: string) => CONTACT_FIELD.test(address) || isEmailAddress(address);
  return sent.every(isAddress) ? sent.join(", ") : undefined;
};

/** The types of trigger events. */
export const eventKinds: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  [
    "campaign.changecampaign",
    {
      label: "Modify contact's campaigns",
      properties: { addTo: named.campaigns, removeFrom: named.campaigns },
      right: EDIT_CONTACTS,
    },
  ],
  [
    "lead.changelists",
    {
      label: "Modify contact's segments",
      properties: { addToLists: named.segments, removeFromLists: named.segments },
      right: EDIT_CONTACTS,
    },
  ],
  [
    "lead.changetags",
    {
      label: "Modify contact's tags",
      properties: { add_tags: texts, remove_tags: texts },
      right: EDIT_CONTACTS,
    },
  ],
  [
    "plugin.leadpush",
    { label: "Push contact to integration", properties: { integration: text, config: object } },
  ],
  ["email.send", { label: "Send an email", properties: { email: named.email } }],
  [
    "email.send_to_user",
    {
      label: "Send an email to user",
      isUnlisted: true,
      properties: {
        useremail: holding("email", named.email),
        user_id: named.users,
        to_owner: flag,
        to: addresses,
        cc: addresses,
        bcc: addresses,
      },
    },
  ],
]);

const COLOR = /^[0-9a-f]{6}$/i;

export function pointTriggers(context: ResourceContext): Repository<PointTrigger> {
  return repository<PointTrigger>(context, PointTriggerSchema, {
    prepare(draft, { before }) {
      draft.events.forEach((event, index) => {
        event.order = index + 1;
      });
      return [...checkColor(draft, before), ...resolveEvents(draft.events, before?.events ?? [])];
    },
    needs: ({ events }) =>
      events.flatMap((event, index) => needsOfTyped(event, eventKinds, `events[${index}].`)),
  });
}

/** Without a colour it gives contacts none. */
function checkColor({ color }: PointTrigger, before: PointTrigger | undefined): Violation[] {
  if (!color || color === before?.color || COLOR.test(color)) return [];
  return [{ field: "color", message: "A color has six hexadecimal digits, as in a0acb8." }];
}

function resolveEvents(events: PointTriggerEvent[], before: PointTriggerEvent[]): Violation[] {
  const known = new Map(before.map((event) => [event.id, event]));
  return events.flatMap((event, index) =>
    resolveTyped(event, eventKinds, known.get(event.id), `events[${index}].`),
  );
}
