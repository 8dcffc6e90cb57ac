import type { HandOver } from "@tidings/mail/mail-transport";
import type { Answer, Outbound } from "@tidings/outbound/outbound";
import { isObject, jsonIn } from "@tidings/resource/json-member";
import { textOf, withoutTags } from "@tidings/runtime/plain-text";
import type { TextMessage, TextTransport } from "./text-transport.ts";
import type { TextApi } from "./transport-url.ts";

/** Refusals that say nothing about the message: of the account, of the address of the API, of the pace. */
const OF_EVERYBODY = new Set([401, 402, 403, 404, 405, 407, 408, 425, 429, 503]);
const REFUSED_SIGN_IN = new Set([401, 403, 407]);
const MESSAGE_LENGTH_MAX = 500;

/** Posts each message to the API of a provider, at most once. */
export function apiTransport(api: TextApi, outbound: Outbound): TextTransport {
  const { kind, url, authorization } = api;
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
          return outcomeOf(sent.answer);
        case "not begun":
          return { state: "not begun" };
        case "unreached": {
          const text = `The provider of text messages cannot be reached: ${sent.code}.`;
          return { state: "away", isRefusedSignIn: false, code: undefined, text };
        }
        case "unknown":
          return { state: "unknown", text: `The provider of text messages did not answer: ${sent.code}.` };
      }
    },
    close: () => outbound.close(),
  };
}

function bodyOf({ kind, from, template }: TextApi, { address, content }: TextMessage) {
  if (kind === "form") {
    const form = new URLSearchParams({ To: address, From: from, Body: content });
    return { type: "application/x-www-form-urlencoded", body: form.toString() };
  }
  const values: Record<string, string> = { to: address, from, text: content };
  return { type: "application/json", body: JSON.stringify(filled(template, values)) };
}

/** The template with values in its texts. Values are not read for tokens. */
function filled(template: unknown, values: Record<string, string>): unknown {
  if (Array.isArray(template)) return template.map((item) => filled(item, values));
  if (isObject(template))
    return Object.fromEntries(Object.entries(template).map(([name, item]) => [name, filled(item, values)]));
  if (typeof template !== "string") return template;
  return template.replace(/\{(to|from|text)\}/g, (_, name: string) => values[name] ?? "");
}

function outcomeOf(answer: Answer): HandOver {
  const { status: code } = answer;
  const text = messageIn(answer);
  if (code >= 200 && code < 300) return { state: "taken", code, text };
  // A redirect is not followed: it would send the message a second time.
  if (code < 400 || OF_EVERYBODY.has(code))
    return { state: "away", isRefusedSignIn: REFUSED_SIGN_IN.has(code), code, text };
  return { state: "refused", by: "message", code, text, isForGood: code < 500 };
}

/** The words of the provider: `{"message"}`, `{"error": {"message"}}`, or a plain text. */
function messageIn({ status, text, headers }: Answer): string {
  const said = saidIn(text) ?? (String(headers["content-type"]).startsWith("text/plain") ? text : "");
  const message = withoutTags(said.slice(0, MESSAGE_LENGTH_MAX)).replaceAll("\0", "").trim();
  return message || `The provider of text messages answered ${status}.`;
}

function saidIn(json: string): string | undefined {
  const body = jsonIn(json);
  const error = isObject(body) && isObject(body.error) ? body.error : body;
  return isObject(error) ? textOf(error.message) : undefined;
}
