import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import type {
  ContactCommandService,
  ReadPreferencesResponse,
} from "@tidings/proto/tidings/contact/v1/command";
import { serviceActor } from "@tidings/rpc/actor";
import type { RpcClient } from "@tidings/rpc/client";
import { Code, toFault } from "@tidings/rpc/fault";
import { isOutage } from "@tidings/rpc/outage";
import { sandboxPolicy } from "../web/policy.ts";
import { chooseCategories, offeredCategories } from "./category-choices.ts";
import type { LinkedSend } from "./mail-links.ts";
import { keepPreferences } from "./preference-jobs.ts";
import type { PreferenceLanding } from "./preference-landing.ts";
import { preferencePage } from "./preference-page.ts";
import type { OfferedChoices } from "./preference-parts.ts";
import { channelsOf, type ReadChoices, readChoices, rulesOf, type StoredRule } from "./preferences.ts";
import { UNSUBSCRIBE_POLICY } from "./unsubscribe-page.ts";

/** A page for a reader, and the policy that it is under. */
export interface ShownPage {
  markup: string;
  policy: string;
}

/** Where readers of mails choose what they get, and how often. */
export interface PreferenceCentre {
  /** The page; undefined while it cannot be written: readers then get that of an unsubscribe. */
  page(send: LinkedSend, token: string): Promise<ShownPage | undefined>;
  /** Keeps what was sent, or answers the page with what is wrong. */
  keep(
    send: LinkedSend,
    token: string,
    body: string,
  ): Promise<{ isKept: true } | { isKept: false; page: ShownPage | undefined }>;
}

interface CentreOptions {
  database: Database;
  outbox: Outbox;
  contacts: RpcClient<typeof ContactCommandService>;
  now: () => number;
  landing: PreferenceLanding;
}

/** A reader does not wait longer for what the contact service knows. */
const WAIT_MS = 2_000;
const actor = serviceActor("Preferences");
const refusedStatement = prepared(
  "send_refusals_email",
  "select from send_refusals where contact_id = $1 and channel = 'email'",
);

export function preferenceCentre({
  database,
  outbox,
  contacts,
  now,
  landing,
}: CentreOptions): PreferenceCentre {
  const read = async ({ contactId }: LinkedSend, token: string): Promise<OfferedChoices | undefined> => {
    const deadlineMs = Date.now() + WAIT_MS;
    const found = await preferencesOf(contacts, contactId, deadlineMs);
    if (!found) return undefined;
    const [categories, refused] = await Promise.all([
      offeredCategories(database, contactId, deadlineMs),
      database.query(refusedStatement, [contactId], deadlineMs),
    ]);
    const rules = JSON.parse(Buffer.from(found.frequencyRules).toString()) as Record<string, StoredRule>;
    return {
      token,
      ...channelsOf(rules, found.hasPhone ? ["email", "sms"] : ["email"], found.timeZone),
      segments: found.segments.map(({ id, name, isMember }) => ({ id, name, isChosen: isMember })),
      categories: categories.map(({ id, title, isSubscribed }) => ({
        id,
        name: title,
        isChosen: isSubscribed,
      })),
      hasRefused: found.hasRefusedEmail || refused.length > 0,
    };
  };
  const written = async (send: LinkedSend, choices: OfferedChoices): Promise<ShownPage> => {
    const markup = await landing(send, choices);
    return markup === undefined
      ? { markup: preferencePage(choices), policy: UNSUBSCRIBE_POLICY }
      : { markup, policy: sandboxPolicy() };
  };
  return {
    async page(send, token) {
      const choices = await read(send, token);
      return choices && written(send, choices);
    },
    async keep(send, token, body) {
      const { choices, problems } = readChoices(new URLSearchParams(body));
      if (problems.size > 0) {
        const offered = await read(send, token);
        return {
          isKept: false,
          page: offered && (await written(send, asEntered(offered, { choices, problems }))),
        };
      }
      const { contactId } = send;
      await database.transaction(backgroundDeadline(), async (transaction) => {
        await chooseCategories(transaction, outbox, { contactId, ...choices.categories });
        keepPreferences(transaction, {
          ...{ contactId, frequencyRules: rulesOf(choices), segments: choices.segments, at: now() },
        });
      });
      return { isKept: true };
    },
  };
}

/** The page shows again what the reader entered, as far as the contact may choose it. */
function asEntered(offered: OfferedChoices, { choices, problems }: ReadChoices): OfferedChoices {
  const chosenAgain = (offers: OfferedChoices["segments"], { chosen }: { chosen: number[] }) =>
    offers.map((offer) => ({ ...offer, isChosen: chosen.includes(offer.id) }));
  return {
    ...offered,
    ...{
      channels: { ...offered.channels, ...choices.channels },
      preferred: choices.preferred,
      problems,
    },
    segments: chosenAgain(offered.segments, choices.segments),
    categories: chosenAgain(offered.categories, choices.categories),
  };
}

/** The preferences of a contact as the contact service knows them, where it answers in time. */
async function preferencesOf(
  contacts: CentreOptions["contacts"],
  contactId: number,
  deadlineMs: number,
): Promise<ReadPreferencesResponse | undefined> {
  return contacts.readPreferences({ contactId }, { actor, deadlineMs, requestId: "" }).catch((error) => {
    if (isOutage(error) || toFault(error).code === Code.DEADLINE_EXCEEDED) return undefined;
    if (toFault(error).code === Code.NOT_FOUND) return undefined;
    throw error;
  });
}
