import { resources } from "../resources.ts";
import { standardMethods } from "../rest/standard-methods.ts";
import { jsonAnswer } from "../route/answer.ts";
import { type Route, route } from "../route/route.ts";
import { closed, TEXT } from "../route/schema.ts";
import { standardRoutes } from "../route/standard-routes.ts";
import { auditRoutes } from "./audit.ts";
import { eventLogRoutes } from "./campaign-event-logs.ts";
import { campaignRoutes } from "./campaigns.ts";
import { companyRoutes } from "./companies.ts";
import { contactListRoutes } from "./contact-lists.ts";
import { contactRoutes } from "./contacts.ts";
import { emailRoutes } from "./emails.ts";
import { fileRoutes } from "./files.ts";
import { focusRoutes } from "./focus.ts";
import { formRoutes } from "./forms.ts";
import { hookRoutes } from "./hooks.ts";
import { jobRoutes } from "./jobs.ts";
import { messageRoutes } from "./messages.ts";
import { pageRoutes } from "./pages.ts";
import { pointRoutes } from "./points.ts";
import { previewRoutes } from "./previews.ts";
import type { RoutesContext } from "./routes-context.ts";
import { contactSegmentRoutes, segmentRoutes } from "./segments.ts";
import { sendRoutes } from "./sends.ts";
import { smsRoutes } from "./smses.ts";
import { stageRoutes } from "./stages.ts";
import { themeRoutes } from "./themes.ts";
import { trackingRoutes } from "./tracking.ts";
import { userRoutes } from "./users.ts";

/** The routes of all resources beyond the standard operations. */
const OWN = [
  auditRoutes,
  campaignRoutes,
  eventLogRoutes,
  companyRoutes,
  contactListRoutes,
  contactRoutes,
  contactSegmentRoutes,
  emailRoutes,
  fileRoutes,
  focusRoutes,
  formRoutes,
  hookRoutes,
  jobRoutes,
  messageRoutes,
  pageRoutes,
  pointRoutes,
  previewRoutes,
  segmentRoutes,
  sendRoutes,
  smsRoutes,
  stageRoutes,
  themeRoutes,
  trackingRoutes,
  userRoutes,
];

/** THE table of the API: every route that there is below /api. */
export function apiRoutes(context: RoutesContext): Route[] {
  const { clients, limits, nested } = context;
  const standard = resources.flatMap((resource) =>
    standardRoutes(resource, standardMethods(resource.service, clients.of(resource.service)), limits, nested),
  );
  return [listResources, ...standard, ...OWN.flatMap((routes) => routes(context))];
}

/** Where each resource is. What a newcomer asks for first. */
const listResources = route({
  method: "GET",
  path: "/",
  summary: "List the resources with their paths",
  operation: "listResources",
  answer: jsonAnswer(closed({ resources: { type: "object", additionalProperties: TEXT } })),
  handle: () => ({ resources: Object.fromEntries(resources.map(({ path }) => [path, `/api/${path}`])) }),
});
