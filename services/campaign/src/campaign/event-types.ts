import {
  flag,
  holding,
  number,
  object,
  oneOf,
  type PropertyReader,
  type PropertyReaders,
  text,
  texts,
  wholeNumber,
} from "@tidings/resource/properties";
import type { TypeNeeds } from "@tidings/resource/typed-needs";
import { DELETE_CONTACTS, EDIT_CONTACTS } from "@tidings/service/rights";
import * as named from "../named.ts";

export type EventKind = "action" | "decision" | "condition";

/** The rules for all events of a type. */
export interface EventType extends TypeNeeds {
  kind: EventKind;
  /** Readers of its known properties. Other properties are kept unchanged. */
  properties: PropertyReaders;
  /** The channel it acts through, and the property that names the entity in it. */
  channel?: { name: string; property?: string };
  /** The types under which it makes sense, with the way there. */
  under?: { types: readonly string[]; path?: "yes" };
  /** It is the end of its way. */
  isLast?: true;
}

const URL_LENGTH_MAX = 2_048;
const integer = wholeNumber();
/** May hold tokens, so that only the beginning can be judged. */
const url: PropertyReader = (value) => {
  const read = text(value);
  if (typeof read !== "string" || read === "") return read;
  return /^(https?:\/\/|\{)/i.test(read) && read.length <= URL_LENGTH_MAX ? read : undefined;
};
const device = { device_type: texts, device_brand: texts, device_os: texts };
/** As segments compare fields, and a date with today. */
const fieldOperator = oneOf(
  ...`= != gt gte lt lte empty !empty like !like between !between in !in regexp !regexp date startsWith endsWith
  contains`.split(/\s+/),
);
const comparison = oneOf("=", "!=", "gt", "gte", "lt", "lte");
const UNDER_EMAIL = { types: ["email.send", "message.send"] };
const UNDER_PAGE = { types: ["page.pagehit"], path: "yes" } as const;
const EMAIL = { name: "email" };
const EDITS = { right: EDIT_CONTACTS };

const action = (properties: EventType["properties"], more: Partial<EventType> = {}): EventType => ({
  kind: "action",
  properties,
  ...more,
});
const decision = (properties: EventType["properties"], more: Partial<EventType> = {}): EventType => ({
  kind: "decision",
  properties,
  ...more,
});
const condition = (properties: EventType["properties"]): EventType => ({ kind: "condition", properties });

/** THE table of types. */
export const eventTypes: ReadonlyMap<string, EventType> = new Map<string, EventType>([
  ["lead.changepoints", action({ points: integer, group: named.pointGroup }, EDITS)],
  ["lead.changelist", action({ addToLists: named.segments, removeFromLists: named.segments }, EDITS)],
  ["lead.updatelead", action({}, EDITS)],
  ["lead.updatecompany", action({}, EDITS)],
  ["lead.changetags", action({ add_tags: texts, remove_tags: texts }, EDITS)],
  ["lead.addtocompany", action({ company: named.company }, EDITS)],
  ["lead.changeowner", action({ owner: named.user }, EDITS)],
  ["lead.scorecontactscompanies", action({ score: integer }, EDITS)],
  ["lead.adddnc", action({ channels: texts, reason: text }, EDITS)],
  ["lead.removednc", action({ channels: texts }, EDITS)],
  ["lead.deletecontact", action({}, { right: DELETE_CONTACTS, isLast: true })],
  [
    "campaign.addremovelead",
    action({ addTo: named.campaignsOrThis, removeFrom: named.campaignsOrThis }, EDITS),
  ],
  ["campaign.jump_to_event", action({}, { isLast: true })],
  [
    "campaign.sendwebhook",
    action({
      url,
      method: oneOf("get", "post", "put", "patch", "delete", "GET", "POST", "PUT", "PATCH", "DELETE"),
      headers: object,
      additional_data: object,
      timeout: integer,
    }),
  ],
  [
    "email.send",
    action(
      {
        email: named.email,
        email_type: oneOf("marketing", "transactional"),
        priority: oneOf("1", "2"),
        attempts: integer,
      },
      { channel: { name: "email", property: "email" } },
    ),
  ],
  [
    "email.send.to.user",
    action(
      {
        useremail: holding("email", named.email),
        user_id: named.users,
        to_owner: flag,
        to: text,
        cc: text,
        bcc: text,
      },
      { channel: EMAIL },
    ),
  ],
  [
    "message.send",
    action(
      { marketingMessage: named.marketingMessage },
      { channel: { name: "message", property: "marketingMessage" } },
    ),
  ],
  ["sms.send_text_sms", action({ sms: named.sms }, { channel: { name: "sms", property: "sms" } })],
  ...["notification.send_notification", "notification.send_mobile_notification"].map(
    (type) =>
      [
        type,
        action(
          { notification: named.notification },
          { channel: { name: "notification", property: "notification" } },
        ),
      ] as const,
  ),
  ["stage.change", action({ stage: named.stage }, EDITS)],
  [
    "dwc.push_content",
    action(
      { dynamicContent: named.dynamicContent },
      {
        channel: { name: "dynamicContent", property: "dynamicContent" },
        under: { types: ["dwc.decision"], path: "yes" },
      },
    ),
  ],
  [
    "tracking.pixel.send",
    action({ services: texts, category: text, action: text, label: text }, { under: UNDER_PAGE }),
  ],
  [
    "focus.show",
    action({ focus: named.focusItem }, { channel: { name: "focus", property: "focus" }, under: UNDER_PAGE }),
  ],
  [
    "twitter.tweet",
    action({ channelId: named.tweet }, { channel: { name: "tweet", property: "channelId" } }),
  ],
  ["plugin.leadpush", action({ integration: text, config: object, campaign_member_status: object })],

  ["email.open", decision({}, { channel: EMAIL, under: UNDER_EMAIL })],
  ["email.click", decision({ urls: object }, { channel: EMAIL, under: UNDER_EMAIL })],
  ["email.reply", decision({}, { channel: EMAIL, under: UNDER_EMAIL })],
  ["form.submit", decision({ forms: named.forms }, { channel: { name: "form", property: "forms" } })],
  [
    "page.pagehit",
    decision(
      { pages: named.pages, url: text, referer: text },
      { channel: { name: "page", property: "pages" } },
    ),
  ],
  ["page.devicehit", decision(device, { channel: { name: "page" } })],
  ["asset.download", decision({ assets: named.assets }, { channel: { name: "asset", property: "assets" } })],
  [
    "dwc.decision",
    decision(
      { dwc_slot_name: text, dynamicContent: named.dynamicContent },
      { channel: { name: "dynamicContent", property: "dynamicContent" } },
    ),
  ],
  ["sms.reply", decision({ pattern: text }, { channel: { name: "sms" } })],

  ["lead.field_value", condition({ field: text, operator: fieldOperator })],
  ["lead.device", condition(device)],
  [
    "lead.pageHit",
    condition({
      page_url: text,
      page: named.page,
      startDate: text,
      endDate: text,
      accumulative_time: number,
    }),
  ],
  ["lead.tags", condition({ tags: texts })],
  ["lead.segments", condition({ segments: named.segments })],
  ["lead.stages", condition({ stages: named.stages })],
  ["lead.owner", condition({ owner: named.users })],
  [
    "lead.campaigns",
    condition({ campaigns: named.campaigns, dataAddedLimit: flag, expr: oneOf("gt", "lt"), dateAdded: text }),
  ],
  ["lead.dnc", condition({ channels: texts, reason: oneOf("1", "2", "3") })],
  ["lead.points", condition({ operator: comparison, score: integer, group: named.pointGroup })],
  ["form.field_value", condition({ form: named.form, field: text, operator: text })],
  ["email.validate.address", condition({})],
  ["notification.has.active", condition({})],
]);
