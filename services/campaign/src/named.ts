import { CampaignSchema } from "@tidings/proto/tidings/campaign/v1/campaign";
import { PointGroupSchema } from "@tidings/proto/tidings/campaign/v1/point_group";
import { StageSchema } from "@tidings/proto/tidings/campaign/v1/stage";
import { CompanySchema } from "@tidings/proto/tidings/contact/v1/company";
import { SegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import { AssetSchema } from "@tidings/proto/tidings/content/v1/asset";
import { CategorySchema } from "@tidings/proto/tidings/content/v1/category";
import { DynamicContentSchema } from "@tidings/proto/tidings/content/v1/dynamic_content";
import { EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import { FocusItemSchema } from "@tidings/proto/tidings/content/v1/focus_item";
import { FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { MarketingMessageSchema } from "@tidings/proto/tidings/content/v1/marketing_message";
import { NotificationSchema } from "@tidings/proto/tidings/content/v1/notification";
import { PageSchema } from "@tidings/proto/tidings/content/v1/page";
import { SmsSchema } from "@tidings/proto/tidings/content/v1/sms";
import { TweetSchema } from "@tidings/proto/tidings/content/v1/tweet";
import { UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import { id, ids, listOf, naming } from "@tidings/resource/properties";

/** Readers of properties that name one entity of a kind, or several of them. */

export const assets = naming(AssetSchema, ids);
export const campaigns = naming(CampaignSchema, ids);
/** Also `this`: the campaign in whose event it stands. */
export const campaignsOrThis = naming(
  CampaignSchema,
  listOf((value) => (value === "this" ? value : id(value))),
);
export const categories = naming(CategorySchema, ids);
export const company = naming(CompanySchema, id);
export const dynamicContent = naming(DynamicContentSchema, id);
export const email = naming(EmailSchema, id);
export const emails = naming(EmailSchema, ids);
export const focusItem = naming(FocusItemSchema, id);
export const form = naming(FormSchema, id);
export const forms = naming(FormSchema, ids);
export const marketingMessage = naming(MarketingMessageSchema, id);
export const notification = naming(NotificationSchema, id);
export const page = naming(PageSchema, id);
export const pages = naming(PageSchema, ids);
export const pointGroup = naming(PointGroupSchema, id);
export const segments = naming(SegmentSchema, ids);
export const sms = naming(SmsSchema, id);
export const stage = naming(StageSchema, id);
export const stages = naming(StageSchema, ids);
export const tweet = naming(TweetSchema, id);
export const user = naming(UserSchema, id);
export const users = naming(UserSchema, ids);
