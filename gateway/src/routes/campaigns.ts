import {
  CampaignContactSchema,
  CampaignEventSchema,
  CampaignMembershipSchema,
  CampaignMethodService,
  CampaignSchema,
  type ContactCampaign,
  ContactCampaignSchema,
  type LocatedEvent,
} from "@tidings/proto/tidings/campaign/v1/campaign";
import { messageWriter } from "../rest/message-json.ts";
import { listAnswer, listQuery, messageAnswer, SUCCESS, textAnswer } from "../route/answer.ts";
import { entityId, id } from "../route/parameter.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, byId, closed, WHOLE_NUMBER } from "../route/schema.ts";
import {
  describeLocated,
  describeWithLogs,
  linkOrNull,
  writeLink,
  writeLocated,
  writeOr,
  writeWithLogs,
} from "./campaign-event-json.ts";
import { oldMemberPath } from "./old-paths.ts";
import type { RoutesContext } from "./routes-context.ts";

const writeMember = messageWriter(CampaignContactSchema);
const writeMembership = messageWriter(CampaignMembershipSchema);
const writeContactCampaign = messageWriter(ContactCampaignSchema);

/** Members are listed as the table of them is, in pages of its own size. */
const MEMBERS_PAGE = 100;

const EVENTS = { many: "events", shape: "array", total: "int" } as const;
const NO_CONTACT = { missing: "Contact not found." };
const viewed = entityId("campaigns", "view");
const contact = (verb: "view" | "edit") => entityId("contacts", verb, NO_CONTACT);

/** Routes of campaigns beyond the standard operations. */
export function campaignRoutes(context: RoutesContext): Route[] {
  const { clients, nested } = context;
  const campaigns = clients.of(CampaignMethodService);
  const rpc = CampaignMethodService.method;
  const cloned = messageAnswer("campaign", CampaignSchema, {
    write: messageWriter(CampaignSchema, nested),
    madeAt: "campaigns",
  });
  return [
    route({
      method: "POST",
      path: "/campaigns/clone/:id",
      summary: "Make a copy of a campaign",
      rpc: rpc.cloneCampaign,
      parameters: { id: entityId("campaigns", "view", { isAskedAnew: true }) },
      answer: cloned,
      handle: ({ parameters, options }) => campaigns.cloneCampaign(parameters, options),
    }),
    ...memberRoutes(context),
    ...eventRoutes(context),
    route({
      method: "GET",
      path: "/contacts/:id/campaigns",
      summary: "List the campaigns of a contact",
      rpc: rpc.listContactCampaigns,
      parameters: { id: contact("view") },
      answer: textAnswer((components) =>
        closed({ total: WHOLE_NUMBER, campaigns: byId(components.present(ContactCampaignSchema)) }),
      ),
      async handle({ parameters: { id: contactId }, options }) {
        const { campaigns: found } = await campaigns.listContactCampaigns({ contactId }, options);
        const entries = found.map((campaign) => `"${campaign.id}":${writeOfContact(campaign)}`);
        return `{"total":${found.length},"campaigns":{${entries.join(",")}}}`;
      },
    }),
  ];
}

function memberRoutes({ clients, limits }: RoutesContext): Route[] {
  const campaigns = clients.of(CampaignMethodService);
  const rpc = CampaignMethodService.method;
  const parameters = { id: viewed, contactId: contact("edit") };
  return [
    route({
      method: "GET",
      path: "/campaigns/:id/contacts",
      summary: "List the members of a campaign",
      rpc: rpc.listCampaignContacts,
      parameters: { id: viewed },
      query: listQuery({ ...limits, pageSize: MEMBERS_PAGE }),
      answer: listAnswer({ many: "contacts", shape: "array", total: "string" }, CampaignContactSchema, {
        write: (item) => writeMember(item),
      }),
      handle: ({ parameters: { id }, query }) => ({
        parameters: query,
        async list(query, options) {
          const { contacts: items, ...page } = await campaigns.listCampaignContacts({ id, query }, options);
          return { ...page, items };
        },
      }),
    }),
    route({
      method: "POST",
      path: "/campaigns/:id/contact/:contactId/add",
      summary: "Add a contact to a campaign",
      rpc: rpc.addCampaignContact,
      parameters,
      answer: SUCCESS,
      aliases: oldMemberPath("campaigns", "add"),
      handle: ({ parameters: named, options }) => campaigns.addCampaignContact(named, options),
    }),
    route({
      method: "POST",
      path: "/campaigns/:id/contact/:contactId/remove",
      summary: "Remove a contact from a campaign",
      rpc: rpc.removeCampaignContact,
      parameters,
      answer: SUCCESS,
      aliases: oldMemberPath("campaigns", "remove"),
      handle: ({ parameters: named, options }) => campaigns.removeCampaignContact(named, options),
    }),
  ];
}

function eventRoutes({ clients, limits }: RoutesContext): Route[] {
  const campaigns = clients.of(CampaignMethodService);
  const rpc = CampaignMethodService.method;
  return [
    route({
      method: "GET",
      path: "/campaigns/events",
      summary: "List the events of all campaigns",
      rpc: rpc.listCampaignEvents,
      query: listQuery(limits),
      answer: listAnswer(EVENTS, CampaignEventSchema, {
        write: (item) => writeLocated(item as LocatedEvent),
        describe: describeLocated,
      }),
      handle: ({ query }) => ({
        parameters: query,
        async list(query, options) {
          const { events: items, ...page } = await campaigns.listCampaignEvents({ query }, options);
          return { ...page, items };
        },
      }),
    }),
    route({
      method: "GET",
      path: "/campaigns/events/:id",
      summary: "Get an event of a campaign",
      rpc: rpc.getCampaignEvent,
      parameters: { id: id("Id of an event") },
      answer: textAnswer((components) => closed({ event: describeLocated(components) })),
      handle: async ({ parameters, options }) =>
        `{"event":${writeLocated(await campaigns.getCampaignEvent(parameters, options))}}`,
    }),
    route({
      method: "GET",
      path: "/campaigns/:id/events/contact/:contactId",
      summary: "List the events of a campaign with what became of them for a contact",
      rpc: rpc.listCampaignContactEvents,
      parameters: { id: viewed, contactId: contact("view") },
      errors: [409],
      answer: textAnswer((components) =>
        closed({
          total: WHOLE_NUMBER,
          events: arrayOf(describeWithLogs(components)),
          campaign: linkOrNull(components),
          membership: arrayOf(components.answered(CampaignMembershipSchema)),
        }),
      ),
      async handle({ parameters: named, options }) {
        const { events, campaign, membership } = await campaigns.listCampaignContactEvents(named, options);
        const list = events.map(writeWithLogs).join(",");
        const memberships = membership ? writeMembership(membership) : "";
        return `{"total":${events.length},"events":[${list}],"campaign":${writeOr(writeLink, campaign)},"membership":[${memberships}]}`;
      },
    }),
  ];
}

/** The membership list is there only where it has entries. */
function writeOfContact(campaign: ContactCampaign): string {
  const json = writeContactCampaign(campaign);
  return campaign.listMembership.length > 0 ? json : json.replace(',"listMembership":[]', "");
}
