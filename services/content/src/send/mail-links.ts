import { type PublicTokens, publicTokens } from "@tidings/secrets/public-token";
import { signClick } from "../visit/click.ts";

/** The send that a link in a mail belongs to. */
export interface LinkedSend {
  hash: string;
  contactId: number;
  emailId: number;
}

/** The addresses that a mail has of its own, each with a signed token. No address of a person stands in any. */
export interface MailLinks {
  unsubscribe(send: LinkedSend): string;
  /** Where the contact refuses everything, also where preferences can be chosen. */
  refuseAll(send: LinkedSend): string;
  webView(send: LinkedSend): string;
  pixel(send: LinkedSend): string;
  /** A tracked link, with the parameters that its author wants. */
  tracked(send: LinkedSend, redirectId: string, parameters: [string, string][]): string;
  /** The address of a page, by which its visitor is known. */
  page(send: LinkedSend, address: string): string;
  /** The send of a token; undefined for one that we did not sign for this purpose. */
  read(purpose: "unsubscribe" | "open" | "web view", token: string): LinkedSend | undefined;
}

export function mailLinks(keys: string[], publicUrl: string): MailLinks {
  const tokens = {
    unsubscribe: publicTokens(keys, "unsubscribe"),
    open: publicTokens(keys, "open"),
    "web view": publicTokens(keys, "web view"),
  };
  const click = publicTokens(keys, "click");
  const address = (path: string) => new URL(path, publicUrl);
  /** All links of a mail have the same token: it is signed once. */
  const clicks = new WeakMap<LinkedSend, string>();
  const clickOf = (send: LinkedSend) => {
    const { contactId, emailId } = send;
    const token =
      clicks.get(send) ?? signClick(click, { contactId, channel: "email", channelId: emailId, emailId });
    clicks.set(send, token);
    return token;
  };
  return {
    unsubscribe: (send) => address(`/email/unsubscribe/${signed(tokens.unsubscribe, send)}`).href,
    refuseAll: (send) => address(`/email/dnc/${signed(tokens.unsubscribe, send)}`).href,
    webView: (send) => address(`/email/view/${signed(tokens["web view"], send)}`).href,
    pixel: (send) => address(`/email/${signed(tokens.open, send)}.gif`).href,
    tracked(send, redirectId, parameters) {
      const url = address(`/r/${redirectId}`);
      for (const [name, value] of parameters) url.searchParams.set(name, value);
      url.searchParams.set("ct", clickOf(send));
      return url.href;
    },
    page(send, target) {
      const url = new URL(target);
      url.searchParams.set("ct", clickOf(send));
      return url.href;
    },
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
