import type { HandOver } from "@tidings/mail/mail-transport";
import type { Answer, Outbound } from "@tidings/outbound/outbound";
import { isObject, jsonIn } from "@tidings/resource/json-member";
import { textOf, withoutTags } from "@tidings/runtime/plain-text";
import { fillTemplate } from "./fill-template.ts";
import type { TextMessage, TextTransport } from "./text-transport.ts";
import type { ProviderApi } from "./transport-url.ts";

/** Refusals that say nothing about the message: of the account, of the address of the API, of the pace. */
const OF_EVERYBODY = new Set([401, 402, 403, 404, 405, 407, 408, 425, 429, 503]);
const REFUSED_SIGN_IN = new Set([401, 403, 407]);
const MESSAGE_LENGTH_MAX = 500;
/** The answer to a message that was taken is kept up to here. */
const ANSWER_LENGTH_MAX = 2_000;

/** Posts each message to the API of a provider, at most once. */
export function apiTransport(api: ProviderApi, plural: string, outbound: Outbound): TextTransport {
  const { kind, url, authorization } = api;
  const provider = `The provider of ${plural}`;
  return {
    name: `${kind}+${new URL(url).origin}`,
    async handOver(message, mayBegin) {
      const { type, body } = bodyOf(api, message);
      const headers = {
        ...{ "content-type": type, accept: "application/json" },
        ...(authorization && { authorization }),
      };
      const sent = await outbound.sendOnce({ method: "POST", url, headers, body }, mayBegin);
      switch (sent.state) {
        case "answered":
          return outcomeOf(sent.answer, provider);
        case "not begun":
          return { state: "not begun" };
        case "unreached": {
          const text = `${provider} cannot be reached: ${sent.code}.`;
          return { state: "away", isRefusedSignIn: false, code: undefined, text };
        }
        case "unknown":
          return { state: "unknown", text: `${provider} did not answer: ${sent.code}.` };
      }
    },
    close: () => outbound.close(),
  };
}

function bodyOf({ kind, from, template }: ProviderApi, { address, to, values }: TextMessage) {
  if (kind === "form") {
    const form = new URLSearchParams({ To: address, From: from, Body: values.text ?? "" });
    if (values.reports) form.set("StatusCallback", values.reports);
    return { type: "application/x-www-form-urlencoded", body: form.toString() };
  }
  return { type: "application/json", body: JSON.stringify(fillTemplate(template, { ...values, to, from })) };
}

function outcomeOf(answer: Answer, provider: string): HandOver {
  const { status: code } = answer;
  if (code >= 200 && code < 300) {
    const text = answer.text.slice(0, ANSWER_LENGTH_MAX).toWellFormed().replaceAll("\0", "");
    return { state: "taken", code, text };
  }
  const text = messageIn(answer) || `${provider} answered ${code}.`;
  // A redirect is not followed: it would send the message a second time.
  if (code < 400 || OF_EVERYBODY.has(code))
    return { state: "away", isRefusedSignIn: REFUSED_SIGN_IN.has(code), code, text };
  return { state: "refused", by: "message", code, text, isForGood: code < 500 };
}

/** The words of the provider: `{"message"}`, `{"error": {"message"}}`, or a plain text; empty where there are none. */
function messageIn({ text, headers }: Answer): string {
  const said = saidIn(text) ?? (String(headers["content-type"]).startsWith("text/plain") ? text : "");
  return withoutTags(said.slice(0, MESSAGE_LENGTH_MAX)).replaceAll("\0", "").trim();
}

function saidIn(json: string): string | undefined {
  const body = jsonIn(json);
  const error = isObject(body) && isObject(body.error) ? body.error : body;
  return isObject(error) ? textOf(error.message) : undefined;
}
