import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Campaign, CampaignMethodService } from "@tidings/proto/tidings/campaign/v1/campaign";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";
import type { Handlers } from "@tidings/rpc/definition";
import { notFound } from "@tidings/rpc/fault";
import { addByHand, removeByHand } from "../membership/by-hand.ts";
import { listCampaignsOf, listMembers } from "../membership/list-members.ts";
import { requireContact } from "../membership/reached.ts";
import { cloneCampaign } from "./campaign.ts";
import { editLogs } from "./edit-logs.ts";
import { eventsOfMember, logsOfContact } from "./event-logs.ts";
import { listEvents, readEvents } from "./list-events.ts";

/** The methods of campaigns beyond the standard ones. */
export function campaignMethods(
  { database, outbox }: ResourceContext,
  campaigns: Repository<Campaign>,
): Handlers<typeof CampaignMethodService> {
  return {
    cloneCampaign: ({ id }, call) => cloneCampaign(campaigns, id, call),
    async addCampaignContact({ id, contactId }, call) {
      await campaigns.get(id, call);
      await requireContact(database, contactId, call, Verb.EDIT);
      await database.transaction(call.deadlineMs, (transaction) =>
        addByHand(transaction, outbox, { campaignId: id, contactIds: [contactId] }),
      );
      return {};
    },
    async removeCampaignContact({ id, contactId }, call) {
      await campaigns.get(id, call);
      await requireContact(database, contactId, call, Verb.EDIT);
      await database.transaction(call.deadlineMs, (transaction) =>
        removeByHand(transaction, outbox, { campaignId: id, contactIds: [contactId], isExit: false }),
      );
      return {};
    },
    async listCampaignContacts({ id, query }, call) {
      await campaigns.get(id, call);
      return listMembers(database, { id, query }, call);
    },
    async listContactCampaigns({ contactId }, call) {
      await requireContact(database, contactId, call, Verb.VIEW);
      return { campaigns: await listCampaignsOf(database, contactId, call) };
    },
    async getCampaignEvent({ id }, call) {
      const event = (await readEvents(database, [id], call)).get(id);
      if (!event) throw notFound();
      return event;
    },
    listCampaignEvents: ({ query }, call) => listEvents(database, query, call),
    async listContactEvents({ contactId, query }, call) {
      await requireContact(database, contactId, call, Verb.VIEW);
      return logsOfContact(database, { contactId, query }, call);
    },
    async listCampaignContactEvents({ id, contactId }, call) {
      const campaign = await campaigns.get(id, call);
      await requireContact(database, contactId, call, Verb.VIEW);
      return eventsOfMember(database, campaign, contactId, call);
    },
    editEventLogs: async ({ edits }, call) => ({ results: await editLogs(database, edits, call) }),
  };
}
