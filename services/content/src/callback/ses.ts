import { type JsonObject, jsonIn, membersOf } from "@tidings/resource/json-member";
import { type Check, UNREADABLE } from "./check.ts";
import type { Feedback, FeedbackKind, ReadItem } from "./feedback.ts";
import { feedbackOf, hashOf, listOf, wordsOf } from "./read-feedback.ts";
import { isOfService, snsChecker, type Topic } from "./sns.ts";

/** Notifications of one topic. Its subscription is confirmed, that of any other one is refused. */
export function sesCheck(topic: Topic): Check {
  const refusalOf = snsChecker(topic);
  return async (request) => {
    const sent = jsonIn(request.body);
    if (sent === undefined) return UNREADABLE;
    const message = membersOf(sent);
    const refused = await refusalOf(message, request);
    if (refused) return { refused };
    if (message.Type === "Notification") return { items: [jsonIn(String(message.Message))] };
    const url = String(message.SubscribeURL);
    if (message.Type === "SubscriptionConfirmation") {
      if (!isOfService(url, topic) || (await request.fetchText(url)) === undefined) return UNREADABLE;
    }
    return { items: [] };
  };
}

/** A notification of an identity (`notificationType`), or an event of a configuration set (`eventType`). */
export const readSes: ReadItem = (item) => {
  const members = membersOf(item);
  const { bounce, complaint, delivery } = members;
  switch (wordsOf(members.notificationType ?? members.eventType)) {
    case "":
      // The service tries out a topic with a text that is no JSON.
      return item === undefined ? [] : undefined;
    case "Bounce":
      return ofRecipients(members, membersOf(bounce), "bouncedRecipients", kindOfBounce(membersOf(bounce)));
    case "Complaint":
      return membersOf(complaint).complaintFeedbackType === "not-spam"
        ? []
        : ofRecipients(members, membersOf(complaint), "complainedRecipients", "complaint");
    case "Delivery":
      return ofRecipients(members, membersOf(delivery), "recipients", "delivered");
    default:
      return [];
  }
};

/** One event for each recipient; undefined where one of them cannot be read. */
function ofRecipients(
  { mail }: JsonObject,
  event: JsonObject,
  name: string,
  kind: FeedbackKind,
): Feedback[] | undefined {
  const { headers, commonHeaders, tags, messageId } = membersOf(mail);
  const original = listOf(headers)
    .map(membersOf)
    .find((header) => wordsOf(header.name).toLowerCase() === "message-id");
  const hash = hashOf(
    listOf(membersOf(tags).tidings)[0],
    original?.value,
    membersOf(commonHeaders).messageId,
  );
  const all: Feedback[] = [];
  for (const recipient of listOf(event[name])) {
    const { emailAddress, diagnosticCode, status } = membersOf(recipient);
    const address = emailAddress ?? recipient;
    const text = wordsOf(diagnosticCode) || wordsOf(event.smtpResponse) || wordsOf(status);
    const feedback = feedbackOf(kind, {
      id: `${kind} ${wordsOf(event.feedbackId) || wordsOf(messageId)} ${wordsOf(address)}`,
      hash,
      address,
      at: event.timestamp,
      code: kind === "delivered" ? undefined : /\b[45]\d\d\b/.exec(text)?.[0],
      text,
    });
    if (!feedback) return undefined;
    all.push(...feedback);
  }
  return all;
}

/** Refused for the content: another mail may be taken. */
const OF_CONTENT = new Set(["ContentRejected", "AttachmentRejected", "MessageTooLarge"]);

function kindOfBounce({ bounceType, bounceSubType }: JsonObject): FeedbackKind {
  if (bounceType === "Permanent") return "hard";
  return OF_CONTENT.has(wordsOf(bounceSubType)) ? "blocked" : "soft";
}
