import type { PublicTokens } from "@tidings/secrets/public-token";
import type { Parameters } from "./parameters.ts";

/** A signed link in a message says who follows it, and is believed. */
export interface Click {
  /** The contact that the message went to; undefined where everybody may read it. */
  contactId?: number | undefined;
  /** The channel and the message: `email`, 7. */
  channel: string;
  channelId: number;
  /** The email in which the link stands. A link to which another one led has none: it is no second click in the mail. */
  emailId?: number;
  /** The send whose mail the link stands in. */
  sendHash?: string;
}

const CHANNEL = /^[a-z][a-z_.]{0,29}$/;

export function signClick(
  tokens: PublicTokens,
  { contactId, channel, channelId, emailId, sendHash }: Click,
): string {
  return tokens.sign([contactId ?? "", channel, channelId, emailId ?? "", sendHash ?? ""].join(" "));
}

/** Gives the address of a page of ours the reader whom a link of a message led there, with the message. */
export function leadReader(
  url: URL,
  { contactId, channel, channelId, sendHash }: Click,
  tokens: PublicTokens,
): void {
  const led = { contactId, channel, channelId, ...(sendHash && { sendHash }) };
  url.searchParams.set("ct", signClick(tokens, led));
}

/** Undefined for a token that is not ours. */
export function readClick(tokens: PublicTokens, token: string): Click | undefined {
  const [contactId, channel = "", channelId, emailId, sendHash] = tokens.read(token)?.split(" ") ?? [];
  if (contactId === undefined || !CHANNEL.test(channel)) return undefined;
  return {
    ...(contactId && { contactId: Number(contactId) }),
    channel,
    channelId: Number(channelId),
    ...(emailId && { emailId: Number(emailId) }),
    ...(sendHash && { sendHash }),
  };
}

/** The signed link that the parameter `ct` names, if any; undefined where we did not sign it. */
export function clickIn(
  parameters: Parameters,
  tokens: PublicTokens,
): { click: Click | undefined } | undefined {
  const token = parameters.get("ct");
  const click = token ? readClick(tokens, token) : undefined;
  return token && !click ? undefined : { click };
}

/** The members of a fact of a visit that a signed link gives. */
export function sourceOf(click: Click | undefined) {
  return {
    source: click?.channel ?? "",
    sourceId: click?.channelId,
    emailId: click?.emailId,
    sendHash: click?.sendHash,
    provenContactId: click?.contactId,
  };
}
