import { type Database, prepared, queryable } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import type { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import type { Email, EmailMethodService } from "@tidings/proto/tidings/content/v1/email";
import { jsonBytes } from "@tidings/resource/json-member";
import type { FindVisible } from "@tidings/resource/needs";
import type { Repository } from "@tidings/resource/repository-options";
import type { RpcClient } from "@tidings/rpc/client";
import type { Handlers } from "@tidings/rpc/definition";
import { notFound } from "@tidings/rpc/fault";
import type { MakeWinner } from "../family/make-winner.ts";
import type { LinkPreview } from "../web/preview.ts";
import { sendAwaiter } from "./await-sends.ts";
import { addBroadcast } from "./broadcast.ts";
import { EMAIL_BROADCASTS } from "./broadcast-kind.ts";
import { broadcastMethods } from "./broadcast-methods.ts";
import type { AskContactable } from "./contactable.ts";
import { directSender, refusalInWords } from "./direct-send.ts";
import { dryRun } from "./dry-run.ts";
import { FAMILY_OF } from "./email-family.ts";
import { readEmailTest } from "./email-test.ts";
import { explainSend } from "./explain-send.ts";
import { ledgerMethods } from "./ledger.ts";
import { NO_TRANSPORT } from "./mail-parts.ts";
import { type PreviewOptions, warningsOfEmail } from "./preview-mail.ts";
import { previewMethods } from "./preview-methods.ts";
import { readCount, readLists, readSegmentSend } from "./read-segments.ts";
import { readTest } from "./read-test.ts";
import type { RecordOpen } from "./record-opens.ts";
import { requireContact } from "./require-contact.ts";
import { SendState } from "./send-tables.ts";

export interface EmailMethodOptions {
  database: Database;
  outbox: Outbox;
  rows: Repository<Email>;
  findVisible: FindVisible;
  askContactable: AskContactable;
  contacts: RpcClient<typeof ContactCommandService>;
  recordOpen: RecordOpen;
  makeWinner: MakeWinner<Email>;
  linkPreview: LinkPreview;
  preview: PreviewOptions;
  /** Is there a way for mails to leave? */
  hasTransport: boolean;
  /** Called once a send is chosen. */
  wake(): void;
}

const familyStatement = prepared(
  "emails_family",
  `select ${FAMILY_OF} as family_id from emails e where e.id = $1`,
);
/** The methods of emails beyond the standard ones, but for those about notices. */
export type SendMethods = Omit<Handlers<typeof EmailMethodService>, "sendTestEmail">;

export function emailMethods(options: EmailMethodOptions): SendMethods {
  const { database, outbox, rows, findVisible, askContactable } = options;
  const awaitSend = sendAwaiter(database, "sends");
  const broadcasts = broadcastMethods(EMAIL_BROADCASTS, {
    ...{ database, outbox, rows, wake: options.wake },
    refusal: options.hasTransport ? undefined : NO_TRANSPORT,
  });
  return {
    ...ledgerMethods(options),
    ...previewMethods(options),
    sendEmailToContact: directSender({ ...options, knownContacts: options.preview.rendering.contacts }),
    async getEmailTest({ id }, call) {
      await rows.get(id, call);
      return readEmailTest(queryable(database, call.deadlineMs), id);
    },
    makeEmailWinner: ({ id }, call) =>
      database.transaction(call.deadlineMs, (transaction) => options.makeWinner(transaction, id, call)),
    async sendEmail({ id, winnerAfterHours, ...sent }, call) {
      const email = await rows.get(id, call);
      const asked = readSegmentSend(sent, email);
      const test = await readTest(winnerAfterHours, email, { database, call });
      const isForSegments = email.emailType === "list" && asked.segmentIds.length > 0;
      return broadcasts.begin({ id, isForSegments }, call, (transaction) =>
        addBroadcast(transaction, { emailId: id, ...asked, createdBy: call.actor.id, test }),
      );
    },
    dryRunEmail: dryRunner(options),
    getBroadcast: broadcasts.get,
    listBroadcasts: broadcasts.list,
    controlBroadcast: broadcasts.control,
    async linkEmailPreview(request, call) {
      await rows.get(request.id, call);
      return options.linkPreview("email", request, call);
    },
    async explainSend({ id, contactId }, call) {
      await rows.get(id, call);
      await requireContact(findVisible, contactId, call);
      const { contacts } = options.preview.rendering;
      const asked = { emailId: id, contactId };
      const explained = await explainSend({ database, contacts, askContactable }, asked, call.deadlineMs);
      if (!explained) throw notFound();
      return { verdict: explained.verdict, rules: jsonBytes(explained.rules) };
    },
    async recordReply({ hash }) {
      const isKnown = await options.recordOpen({ hash: hash.toLowerCase(), by: "reply" });
      if (!isKnown) throw notFound();
      return {};
    },
    async awaitSend({ hash }, call) {
      const progress = await awaitSend(hash, call.deadlineMs);
      if (!progress) throw notFound();
      const { state, reason } = progress;
      return { state, reason: state === SendState.SUPPRESSED ? refusalInWords(reason) : reason };
    },
  };
}

function dryRunner(options: EmailMethodOptions): SendMethods["dryRunEmail"] {
  const { database, rows, findVisible } = options;
  return async ({ id, lists, limit }, call) => {
    const email = await rows.get(id, call);
    const segmentIds = readLists(lists, email);
    const recipientsMax = readCount("limit", limit);
    const excludedSegmentIds = email.excludedLists.map((segment) => segment.id);
    const [family] = await database.query(familyStatement, [id], call.deadlineMs);
    if (!family) throw notFound();
    const asked = {
      ...{ emailId: id, familyId: Number(family.family_id) },
      ...{ segmentIds, excludedSegmentIds, recipientsMax },
    };
    const { wouldSend, excluded, samples } = await dryRun(options, asked, call.deadlineMs);
    const warnings = await warningsOfEmail(id, options.preview);
    const ids = samples.map(({ contactId }) => contactId);
    const visible = ids.length > 0 ? await findVisible(ContactSchema, ids, call) : new Set<number>();
    const shown = samples.filter(({ contactId }) => visible.has(contactId));
    return {
      ...{ wouldSend, excluded: jsonBytes(excluded) },
      ...{ samples: jsonBytes(shown), warnings: jsonBytes(warnings) },
    };
  };
}
