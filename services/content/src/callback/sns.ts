import { type KeyObject, verify, X509Certificate } from "node:crypto";
import type { JsonObject } from "@tidings/resource/json-member";
import { type CallbackRequest, isStale, type RefusalOfCallback } from "./check.ts";
import { wordsOf } from "./read-feedback.ts";

/** A topic of the Simple Notification Service, and where its region signs. */
export interface Topic {
  arn: string;
  host: string;
}

const ARN = /^arn:(aws|aws-cn|aws-us-gov):sns:([a-z]{2}(?:-[a-z]+)+-\d):\d{12}:[\w-]{1,256}(?:\.fifo)?$/;
const CERTIFICATE_PATH = /^\/SimpleNotificationService-[0-9a-zA-Z]{1,64}\.pem$/;
const CERTIFICATES_MAX = 20;
const ALGORITHMS = new Map([
  ["1", "sha1"],
  ["2", "sha256"],
]);
/** The members that a signature covers, in this order. */
const COVERED: Record<string, string[]> = {
  Notification: ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
  SubscriptionConfirmation: [
    "Message",
    "MessageId",
    "SubscribeURL",
    "Timestamp",
    "Token",
    "TopicArn",
    "Type",
  ],
  UnsubscribeConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
};

/** Undefined for a text that names no topic. */
export function topicOf(arn: string): Topic | undefined {
  const [, partition, region] = ARN.exec(arn) ?? [];
  if (!region) return undefined;
  return { arn, host: `sns.${region}.amazonaws.com${partition === "aws-cn" ? ".cn" : ""}` };
}

/** Is this an https address of the service in the topic's region? */
export function isOfService(text: string, { host }: Topic): boolean {
  return text.startsWith(`https://${host}/`) && URL.canParse(text) && new URL(text).host === host;
}

/** Why a message is none of the topic's; undefined for one that the service signed. */
export function snsChecker(topic: Topic) {
  const keys = new Map<string, KeyObject>();
  return async (message: JsonObject, request: CallbackRequest): Promise<RefusalOfCallback | undefined> => {
    const text = textToSign(message);
    const algorithm = ALGORITHMS.get(String(message.SignatureVersion));
    const { TopicArn, SigningCertURL, Signature, Timestamp } = message;
    if (TopicArn !== topic.arn || text === undefined || !algorithm) return "signature";
    const url = String(SigningCertURL);
    if (!isOfService(url, topic) || !CERTIFICATE_PATH.test(url.slice(`https://${topic.host}`.length)))
      return "signature";
    const key = keys.get(url) ?? (await keyAt(url, request));
    if (!key) return "signature";
    if (keys.size < CERTIFICATES_MAX) keys.set(url, key);
    if (!verify(algorithm, Buffer.from(text), key, Buffer.from(String(Signature), "base64")))
      return "signature";
    return isStale(Date.parse(wordsOf(Timestamp)), request.now) ? "stale" : undefined;
  };
}

function textToSign(message: JsonObject): string | undefined {
  const type = String(message.Type);
  if (!Object.hasOwn(COVERED, type)) return undefined;
  const covered = (COVERED[type] ?? []).filter((name) => name !== "Subject" || message.Subject != null);
  if (!covered.every((name) => typeof message[name] === "string")) return undefined;
  return covered.map((name) => `${name}\n${message[name]}\n`).join("");
}

/** The key of a certificate that is valid now. */
async function keyAt(url: string, { fetchText, now }: CallbackRequest): Promise<KeyObject | undefined> {
  const pem = await fetchText(url);
  try {
    const { validFrom, validTo, publicKey } = new X509Certificate(pem ?? "");
    return Date.parse(validFrom) <= now && now < Date.parse(validTo) ? publicKey : undefined;
  } catch {
    return undefined;
  }
}
