import type { DescService } from "@bufbuild/protobuf";
import { CampaignService } from "@tidings/proto/tidings/campaign/v1/campaign_service";
import { PointActionService } from "@tidings/proto/tidings/campaign/v1/point_action_service";
import { PointGroupService } from "@tidings/proto/tidings/campaign/v1/point_group_service";
import { PointTriggerService } from "@tidings/proto/tidings/campaign/v1/point_trigger_service";
import { StageService } from "@tidings/proto/tidings/campaign/v1/stage_service";
import { CompanyService } from "@tidings/proto/tidings/contact/v1/company_service";
import { ContactService } from "@tidings/proto/tidings/contact/v1/contact_service";
import { DeviceService } from "@tidings/proto/tidings/contact/v1/device_service";
import { CompanyFieldService, ContactFieldService } from "@tidings/proto/tidings/contact/v1/field_service";
import { NoteService } from "@tidings/proto/tidings/contact/v1/note_service";
import { SegmentService } from "@tidings/proto/tidings/contact/v1/segment_service";
import { TagService } from "@tidings/proto/tidings/contact/v1/tag_service";
import { AssetService } from "@tidings/proto/tidings/content/v1/asset_service";
import { CategoryService } from "@tidings/proto/tidings/content/v1/category_service";
import { DynamicContentService } from "@tidings/proto/tidings/content/v1/dynamic_content_service";
import { EmailService } from "@tidings/proto/tidings/content/v1/email_service";
import { FocusItemService } from "@tidings/proto/tidings/content/v1/focus_item_service";
import { FormService } from "@tidings/proto/tidings/content/v1/form_service";
import { MarketingMessageService } from "@tidings/proto/tidings/content/v1/marketing_message_service";
import { NotificationService } from "@tidings/proto/tidings/content/v1/notification_service";
import { PageService } from "@tidings/proto/tidings/content/v1/page_service";
import { SmsService } from "@tidings/proto/tidings/content/v1/sms_service";
import { TweetService } from "@tidings/proto/tidings/content/v1/tweet_service";
import { RoleService } from "@tidings/proto/tidings/identity/v1/role_service";
import { UserService } from "@tidings/proto/tidings/identity/v1/user_service";
import { WebhookService } from "@tidings/proto/tidings/webhook/v1/webhook_service";
import { standardOf } from "@tidings/rpc/standard";

/** The standard operations of a resource, as REST callers see them. */
export interface Resource {
  /** Below /api. */
  path: string;
  /** Key of a single entity and of a list. */
  one: string;
  many: string;
  /** A list is an array, or an object keyed by id. */
  shape: "array" | "byId";
  /** How the total of a list is written. */
  total: "int" | "string";
  service: DescService;
  /** A body that makes one, as OpenAPI shows it. */
  example: Record<string, unknown>;
  /** A creation whose body has what identifies an entity changes that one: 200 in place of 201. */
  mayBeThere?: true;
  /** Members of a `minimal` list; all when absent. */
  minimal?: string[];
  /** Statuses of errors that a deletion alone has. */
  deletionErrors?: number[];
}

const MINIMAL_CONTACT = "id isPublished dateAdded points color lastActive dateIdentified owner fields".split(
  " ",
);

const IN_LONDON = {
  glue: "and",
  object: "lead",
  field: "city",
  type: "text",
  operator: "=",
  filter: "London",
};
const ADA = {
  username: "ada",
  firstName: "Ada",
  lastName: "Lovelace",
  email: "ada@example.com",
  role: 1,
  plainPassword: { password: "Vermilion-Kettle-42", confirm: "Vermilion-Kettle-42" },
};

/** THE table of the REST surface: a row gives a resource its eight standard operations. */
export const resources: Resource[] = [
  row(
    "contacts",
    "contact",
    ContactService,
    { firstname: "Ada", lastname: "Lovelace", email: "ada@example.com", tags: ["vip"] },
    { shape: "byId", total: "string", minimal: MINIMAL_CONTACT, mayBeThere: true },
  ),
  row(
    "companies",
    "company",
    CompanyService,
    { companyname: "Analytical Engines", companycity: "London" },
    { shape: "byId", mayBeThere: true },
  ),
  row(
    "fields/contact",
    "field",
    ContactFieldService,
    { label: "Shoe size", type: "number" },
    { many: "fields" },
  ),
  row("fields/company", "field", CompanyFieldService, { label: "Floor", type: "text" }, { many: "fields" }),
  row("campaigns", "campaign", CampaignService, { name: "Welcome" }, { shape: "byId" }),
  row("assets", "asset", AssetService, {
    title: "Guide",
    storageLocation: "remote",
    file: "https://example.com/guide.pdf",
  }),
  row("categories", "category", CategoryService, { title: "Letters", bundle: "email" }),
  row(
    "dynamiccontents",
    "dynamicContent",
    DynamicContentService,
    { name: "Greeting", content: "<p>Hello</p>" },
    { many: "dynamicContents" },
  ),
  row("emails", "email", EmailService, {
    name: "Welcome",
    subject: "Hello {contactfield=firstname}",
    customHtml: "<p>Hello</p>",
  }),
  row(
    "focus",
    "focus",
    FocusItemService,
    { name: "Newsletter", type: "notice", style: "bar" },
    { shape: "byId" },
  ),
  row("forms", "form", FormService, {
    name: "Sign up",
    formType: "standalone",
    fields: [{ label: "Email", type: "email" }],
  }),
  row("messages", "message", MarketingMessageService, { name: "Spring" }, { shape: "byId" }),
  row(
    "notifications",
    "notification",
    NotificationService,
    { name: "Spring", heading: "News", message: "The spring is here" },
    { shape: "byId" },
  ),
  row("pages", "page", PageService, { title: "About us", customHtml: "<p>Hello</p>" }),
  row("smses", "sms", SmsService, { name: "Spring", message: "The spring is here" }),
  row("tweets", "tweet", TweetService, { name: "Spring", text: "The spring is here" }),
  row("devices", "device", DeviceService, { lead: 1, device: "desktop" }),
  row("notes", "note", NoteService, { lead: 1, type: "call", text: "Called back" }),
  row(
    "hooks",
    "hook",
    WebhookService,
    { name: "New contacts", webhookUrl: "https://example.com/in", triggers: ["svc.lead_post_save_new"] },
    { shape: "byId" },
  ),
  row("segments", "list", SegmentService, { name: "Londoners", filters: [IN_LONDON] }, { many: "lists" }),
  row("points", "point", PointActionService, { name: "Visit", type: "page.hit", delta: 5 }),
  row("points/triggers", "trigger", PointTriggerService, { name: "Keen", points: 10 }, { many: "triggers" }),
  row("points/groups", "pointGroup", PointGroupService, { name: "Interest" }, { many: "pointGroups" }),
  row(
    "roles",
    "role",
    RoleService,
    { name: "Editors", rawPermissions: { "email:emails": ["full"] } },
    { deletionErrors: [428] },
  ),
  row("stages", "stage", StageService, { name: "Customer", weight: 2 }),
  row("tags", "tag", TagService, { tag: "vip" }, { shape: "byId", mayBeThere: true }),
  row("users", "user", UserService, ADA),
];

function row(
  path: string,
  one: string,
  service: DescService,
  example: Record<string, unknown>,
  special: Partial<Resource> = {},
): Resource {
  return { path, one, many: path, shape: "array", total: "int", service, example, ...special };
}

const types = new Map(resources.map(({ path, service }) => [path, standardOf(service).resource.typeName]));

/** The name of the message of a resource's entities: `tidings.contact.v1.Tag`. */
export function typeOf(path: string): string {
  const type = types.get(path);
  if (type === undefined) throw new Error(`there is no resource ${path}`);
  return type;
}
