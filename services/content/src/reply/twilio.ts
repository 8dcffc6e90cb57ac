import { createHmac } from "node:crypto";
import { type JsonObject, membersOf } from "@tidings/resource/json-member";
import { type Check, headerOf, isSame, REFUSED, UNREADABLE } from "../callback/check.ts";
import { hashOf, wordsOf } from "../callback/read-feedback.ts";
import type { ReportKind, TextEvent } from "./text-event.ts";

/** The parameter of the address of a report that names the send. */
export const SEND_PARAMETER = "send";
/** An answer without a message: whoever wrote gets none. */
export const NO_MESSAGE = { type: "text/xml", body: "<Response/>" };

const PARAMETERS_MAX = 200;

/**
 * `X-Twilio-Signature`: base64 of the HMAC-SHA1 (RFC 2104) of the address and, in the order of their names, the names and values of the form
 * (Twilio's "Validating requests"). Some of its products sign the address with the port, others without.
 */
export function twilioCheck(secret: string): Check {
  return (request) => {
    const form = new URLSearchParams(request.body);
    if (form.size > PARAMETERS_MAX) return UNREADABLE;
    const signature = headerOf(request, "x-twilio-signature");
    const written = signedForm(form);
    const isSigned = addressesOf(request.url).map((url) =>
      isSame(
        signature,
        createHmac("sha1", secret)
          .update(url + written)
          .digest("base64"),
      ),
    );
    if (!isSigned.includes(true)) return REFUSED;
    const send = new URL(request.url).searchParams.get(SEND_PARAMETER) ?? "";
    return { items: [{ form: Object.fromEntries(form), send, at: request.now }] };
  };
}

/** Several values of a name are signed in their order, each once. */
function signedForm(form: URLSearchParams): string {
  const names = [...new Set(form.keys())].toSorted();
  return names
    .flatMap((name) => [...new Set(form.getAll(name))].toSorted().map((value) => name + value))
    .join("");
}

function addressesOf(text: string): string[] {
  const { protocol, hostname, port } = new URL(text);
  const rest = text.slice(new URL(text).origin.length);
  const usual = protocol === "https:" ? "443" : "80";
  return [`${protocol}//${hostname}:${port || usual}${rest}`, `${protocol}//${hostname}${rest}`];
}

const STATUSES = new Map<string, ReportKind>([
  ...["accepted", "queued", "scheduled", "sending", "sent"].map((status) => [status, "taken"] as const),
  ...["delivered", "read"].map((status) => [status, "delivered"] as const),
]);
/** No number, one that no message reaches, a landline: no other message would arrive either. */
const NO_SUCH_NUMBER = new Set([21211, 21214, 21217, 21401, 21614, 21635, 30005, 30006]);
/** The contact said no to the provider. */
const UNSUBSCRIBED = 21610;
/** A network or a filter refused the message. */
const BLOCKED = new Set([30002, 30004, 30007, 30034]);

/** The form of a report (`MessageStatus`), or of a message to us (`Body`). A form has no time: it is that of its arrival. */
export function readTwilio(item: unknown): TextEvent[] | undefined {
  const { form, send, at } = membersOf(item);
  const members = membersOf(form);
  const id = wordsOf(members.MessageSid) || wordsOf(members.SmsSid);
  if (id === "" || typeof at !== "number") return undefined;
  const status = (wordsOf(members.MessageStatus) || wordsOf(members.SmsStatus)).toLowerCase();
  if (status === "received" || status === "receiving" || (status === "" && "Body" in members)) {
    const address = wordsOf(members.From);
    if (address === "") return undefined;
    return [{ kind: "reply", id, at, address, text: messageOf(members), asked: askedIn(members) }];
  }
  const code = Number(wordsOf(members.ErrorCode)) || undefined;
  const kind = status === "failed" || status === "undelivered" ? kindOfError(code) : STATUSES.get(status);
  if (!kind) return status === "" ? undefined : [];
  const [hash, address] = [hashOf(send), wordsOf(members.To)];
  if (hash === undefined && address === "") return undefined;
  return [{ kind, id: `${id} ${status}`, at, hash, address, code, text: wordsOf(members.ErrorMessage) }];
}

function kindOfError(code = 0): ReportKind {
  if (NO_SUCH_NUMBER.has(code)) return "hard";
  if (code === UNSUBSCRIBED) return "unsubscribe";
  return BLOCKED.has(code) ? "blocked" : "soft";
}

function messageOf({ Body }: JsonObject): string {
  return typeof Body === "string" ? Body : "";
}

function askedIn({ OptOutType }: JsonObject): "stop" | "start" | undefined {
  const word = wordsOf(OptOutType).toLowerCase();
  return word === "stop" || word === "start" ? word : undefined;
}
