import { assetDownload } from "./journeys/asset-download.ts";
import { campaignEdit } from "./journeys/campaign-edit.ts";
import { contactImport } from "./journeys/contact-import.ts";
import { contactLifecycle } from "./journeys/contact-lifecycle.ts";
import { contactLists } from "./journeys/contact-lists.ts";
import { contentEdit } from "./journeys/content-edit.ts";
import { cursorWalk } from "./journeys/cursor-walk.ts";
import { directSend } from "./journeys/direct-send.ts";
import { emailBroadcast } from "./journeys/email-broadcast.ts";
import { formEdit } from "./journeys/form-edit.ts";
import { formSubmit } from "./journeys/form-submit.ts";
import { mixedReads } from "./journeys/mixed-reads.ts";
import { oauthTokens } from "./journeys/oauth-tokens.ts";
import { openClickUnsubscribe } from "./journeys/open-click-unsubscribe.ts";
import { pointsAndStages } from "./journeys/points-and-stages.ts";
import { publicVisit } from "./journeys/public-visit.ts";
import { retriedWrites } from "./journeys/retried-writes.ts";
import { segmentMembership } from "./journeys/segment-membership.ts";
import { segmentToCampaign } from "./journeys/segment-to-campaign.ts";
import { webhookDelivery } from "./journeys/webhook-delivery.ts";
import type { Journeys } from "./plan.ts";

/** Every journey there is. */
export const journeys: Journeys = {
  "contact-lifecycle": contactLifecycle,
  "contact-lists": contactLists,
  "contact-import": contactImport,
  "cursor-walk": cursorWalk,
  "retried-writes": retriedWrites,
  "segment-membership": segmentMembership,
  "segment-to-campaign": segmentToCampaign,
  "webhook-delivery": webhookDelivery,
  "form-edit": formEdit,
  "campaign-edit": campaignEdit,
  "content-edit": contentEdit,
  "points-and-stages": pointsAndStages,
  "mixed-reads": mixedReads,
  "public-visit": publicVisit,
  "form-submit": formSubmit,
  "asset-download": assetDownload,
  "direct-send": directSend,
  "email-broadcast": emailBroadcast,
  "open-click-unsubscribe": openClickUnsubscribe,
  "oauth-tokens": oauthTokens,
};
