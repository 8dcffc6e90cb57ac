import { type PublicTokens, publicTokens } from "@tidings/secrets/public-token";
import { type ClickLinks, clickLinks } from "./click-links.ts";
import { type ReturnAddresses, returnAddresses } from "./return-addresses.ts";

/** The send that a link in a mail belongs to. */
export interface LinkedSend {
  hash: string;
  contactId: number;
  emailId: number;
  /** Its mail goes to many. */
  isBulk?: boolean;
}

/** The addresses that a mail has of its own, each with a signed token. No address of a person stands in any. */
export interface MailLinks {
  /** The host of all of them. */
  host: string;
  /** Does an address unsubscribe, or show the mail on the web? Such links lead there without a detour. */
  isOwn(address: string): boolean;
  unsubscribe(send: LinkedSend): string;
  /** Where the contact refuses everything, also where preferences can be chosen. */
  refuseAll(send: LinkedSend): string;
  webView(send: LinkedSend): string;
  pixel(send: LinkedSend): string;
  /** A link that no person sees. */
  trap(send: LinkedSend): string;
  /** A tracked link, with the parameters that its author wants. */
  tracked(send: LinkedSend, redirectId: string, parameters: [string, string][]): string;
  /** The same of a link whose target is this reader's own; undefined where the target is too long. */
  trackedTo(
    send: LinkedSend,
    target: string,
    redirectId: string,
    parameters: [string, string][],
  ): string | undefined;
  /** The address of a page, by which its visitor is known. */
  page(send: LinkedSend, address: string): string;
  /** Addresses of the inbox that is read; undefined where none is. */
  returnAddresses: ReturnAddresses | undefined;
  /** The send of a token; undefined for one that we did not sign for this purpose. */
  read(purpose: "unsubscribe" | "open" | "web view", token: string): LinkedSend | undefined;
}

export function mailLinks(keys: string[], publicUrl: string, inboxAddress?: string): MailLinks {
  const tokens = {
    unsubscribe: publicTokens(keys, "unsubscribe"),
    open: publicTokens(keys, "open"),
    "web view": publicTokens(keys, "web view"),
  };
  const { href: base, hostname: host } = new URL("/", publicUrl);
  const clicks = clickLinks(keys, publicUrl);
  const known = new WeakMap<LinkedSend, ClickLinks>();
  const clicksOf = (send: LinkedSend) => {
    const { hash: sendHash, contactId, emailId } = send;
    const links =
      known.get(send) ?? clicks({ contactId, channel: "email", channelId: emailId, emailId, sendHash });
    known.set(send, links);
    return links;
  };
  const unsubscribes = new WeakMap<LinkedSend, string>();
  // HTML, text and header of a mail have the same token: it is signed once.
  const unsubscribeToken = (send: LinkedSend) => {
    const token = unsubscribes.get(send) ?? signed(tokens.unsubscribe, send);
    unsubscribes.set(send, token);
    return token;
  };
  return {
    host,
    isOwn: (address) => address.startsWith(`${base}email/`),
    unsubscribe: (send) => `${base}email/unsubscribe/${unsubscribeToken(send)}`,
    refuseAll: (send) => `${base}email/dnc/${unsubscribeToken(send)}`,
    webView: (send) => `${base}email/view/${signed(tokens["web view"], send)}`,
    pixel: (send) => `${base}email/${signed(tokens.open, send)}.gif`,
    trap: (send) => `${base}email/more/${signed(tokens.open, send)}`,
    tracked: (send, redirectId, parameters) => clicksOf(send).tracked(redirectId, parameters),
    trackedTo: (send, target, redirectId, parameters) =>
      clicksOf(send).trackedTo(target, redirectId, parameters),
    page: (send, target) => clicksOf(send).page(target),
    returnAddresses: inboxAddress === undefined ? undefined : returnAddresses(keys, inboxAddress),
    read(purpose, token) {
      const [hash = "", contactId, emailId] = tokens[purpose].read(token)?.split(" ") ?? [];
      if (!Number(contactId)) return undefined;
      return { hash, contactId: Number(contactId), emailId: Number(emailId) };
    },
  };
}

function signed(tokens: PublicTokens, { hash, contactId, emailId }: LinkedSend): string {
  return tokens.sign(`${hash} ${contactId} ${emailId}`);
}
