import {
  arrayOf,
  COUNT,
  closed,
  type Schema,
  SWITCH,
  TEXT,
  TEXT_OR_NULL,
  WARNINGS,
} from "../route/schema.ts";
import { shown } from "./referred.ts";

/** An object whose members its type decides. */
const OBJECT: Schema = { type: "object", additionalProperties: true };
/** Older clients know an empty object as an empty list. */
const OBJECT_OR_LIST: Schema = { type: ["object", "array", "null"], additionalProperties: true };
const IDS = { ...arrayOf({ type: ["integer", "string"] }) };
const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: "null" }] });

/** The user that a contact or company belongs to. */
const OWNER: Schema = closed({
  id: { type: "integer" },
  username: TEXT,
  firstName: TEXT,
  lastName: TEXT,
  createdByUser: { type: "null" },
  modifiedByUser: { type: "null" },
});

/** The actions that are allowed, by permission. */
const PERMISSIONS: Schema = { type: ["object", "array", "null"], additionalProperties: arrayOf(TEXT) };

/** The role of a user. */
const ROLE: Schema = {
  ...closed({
    ...{ id: COUNT, name: TEXT, description: TEXT_OR_NULL, isAdmin: SWITCH, rawPermissions: PERMISSIONS },
    ...{ createdByUser: TEXT_OR_NULL, modifiedByUser: TEXT_OR_NULL },
  }),
  examples: [
    {
      ...{ id: 1, name: "Administrator", description: "Full system access", isAdmin: true },
      ...{ rawPermissions: null, createdByUser: null, modifiedByUser: null },
    },
  ],
};

/** A visit that had tags of a campaign, with the query that it came by. */
const UTM_TAGS: Schema = closed({
  ...{ id: COUNT, query: OBJECT_OR_LIST, referer: TEXT_OR_NULL, remoteHost: TEXT_OR_NULL, url: TEXT_OR_NULL },
  ...{ userAgent: TEXT_OR_NULL, utmCampaign: TEXT_OR_NULL, utmContent: TEXT_OR_NULL },
  ...{ utmMedium: TEXT_OR_NULL, utmSource: TEXT_OR_NULL, utmTerm: TEXT_OR_NULL },
});

/** A channel on which a contact said no. */
const REFUSAL: Schema = closed({
  ...{ id: COUNT, dateAdded: TEXT, reason: COUNT, comments: TEXT, channel: TEXT },
  channelId: { type: ["integer", "null"] },
});

/** The stage of a contact. */
const STAGE: Schema = closed({
  ...{ id: COUNT, name: TEXT, weight: { type: "integer" }, description: TEXT_OR_NULL },
  category: orNull(shown("category")),
});

/** An address that a contact was seen at, by which it is named. */
const ADDRESS: Schema = closed({
  ...{ ip: TEXT, id: COUNT, ipAddress: TEXT },
  ipDetails: { type: "object", additionalProperties: TEXT },
});

/** A filter of contacts; its glue joins it to those before it. */
const FILTER: Schema = {
  type: "object",
  properties: {
    glue: { enum: ["and", "or"] },
    field: TEXT,
    object: TEXT,
    type: TEXT,
    operator: TEXT,
    filter: { description: "What the field is compared with: a text, a number, a list" },
    display: { description: "The same for people" },
    properties: OBJECT_OR_LIST,
  },
  additionalProperties: true,
};

/** Members that are kept or written as JSON, of which the descriptor of their message says no more: `<Message>.<member>`. */
export const jsonMembers: Record<string, Schema> = {
  "AuditEntry.details": OBJECT_OR_LIST,
  "Campaign.canvasSettings": OBJECT_OR_LIST,
  "CampaignEvent.properties": OBJECT_OR_LIST,
  "Company.owner": orNull(OWNER),
  "Contact.companies": IDS,
  "Contact.doNotContact": arrayOf(REFUSAL),
  "Contact.frequencyRules": OBJECT_OR_LIST,
  "Contact.ipAddresses": { type: ["object", "array", "null"], additionalProperties: ADDRESS },
  "Contact.owner": orNull(OWNER),
  "Contact.stage": orNull(STAGE),
  "Contact.tags": {
    ...arrayOf(closed({ id: COUNT, tag: TEXT, description: TEXT_OR_NULL })),
    examples: [[{ id: 1, tag: "vip", description: null }]],
  },
  "Contact.utmtags": arrayOf(UTM_TAGS),
  "Field.properties": OBJECT_OR_LIST,
  "Device.clientInfo": OBJECT_OR_LIST,
  "DynamicContent.filters": OBJECT_OR_LIST,
  "DynamicContent.utmTags": OBJECT_OR_LIST,
  "DynamicContent.variantChildren": arrayOf(shown("dynamic_content")),
  "Email.dynamicContent": OBJECT_OR_LIST,
  "Email.headers": OBJECT_OR_LIST,
  "Email.translationChildren": arrayOf(shown("email")),
  "Email.utmTags": OBJECT_OR_LIST,
  "Email.variantChildren": arrayOf(shown("email")),
  "Email.variantSettings": OBJECT_OR_LIST,
  "Email.warnings": WARNINGS,
  "EventLog.metadata": OBJECT_OR_LIST,
  "EventLogEdit.metadata": OBJECT_OR_LIST,
  "FocusItem.properties": OBJECT_OR_LIST,
  "FocusItem.utmTags": OBJECT_OR_LIST,
  "FormAction.properties": OBJECT_OR_LIST,
  "FormField.conditions": OBJECT_OR_LIST,
  "FormField.properties": OBJECT_OR_LIST,
  "FormField.validation": OBJECT_OR_LIST,
  "Job.result": OBJECT,
  "Notification.mobileSettings": OBJECT_OR_LIST,
  "Notification.utmTags": OBJECT_OR_LIST,
  "Page.translationChildren": arrayOf(shown("page")),
  "Page.variantChildren": arrayOf(shown("page")),
  "Page.variantSettings": OBJECT_OR_LIST,
  "PointAction.properties": OBJECT_OR_LIST,
  "PointTriggerEvent.properties": OBJECT_OR_LIST,
  "Role.permissions": OBJECT_OR_LIST,
  "Role.rawPermissions": PERMISSIONS,
  "Segment.filters": arrayOf(FILTER),
  "Send.openDetails": arrayOf(closed({ datetime: TEXT, useragent: TEXT, inBrowser: { type: "boolean" } })),
  "Submission.files": OBJECT,
  "Submission.form": closed({ id: COUNT, name: TEXT, alias: TEXT, category: orNull(shown("category")) }),
  "Submission.ipAddress": closed({ ip: TEXT_OR_NULL }),
  "Submission.lead": orNull({ type: "object", additionalProperties: true }),
  "Submission.results": OBJECT_OR_LIST,
  "TrackedSite.refused": { type: "object", additionalProperties: { type: "integer" } },
  "User.plainPassword": OBJECT,
  "User.role": orNull(ROLE),
};

/** The same where more may be sent than is answered. */
export const sentJson: Record<string, Schema> = {
  "Role.rawPermissions": OBJECT_OR_LIST,
  "User.role": orNull({ type: ["object", "integer"] }),
  "Contact.doNotContact": arrayOf(OBJECT),
  "Contact.stage": orNull(OBJECT),
  "Contact.tags": arrayOf({ type: ["string", "integer", "object"] }),
};
