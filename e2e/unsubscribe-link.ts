/** The link by which the reader of this mail unsubscribes (RFC 2369); empty in a mail without one. */
export function unsubscribeLink(octets: string): string {
  // RFC 5322, 2.2.3: a long header goes on in the next line.
  const unfolded = octets.replaceAll("\r\n ", " ");
  return /^List-Unsubscribe: <([^>]*)>/m.exec(unfolded)?.[1] ?? "";
}

/** The body that a mail program sends when its reader unsubscribes (RFC 8058, 3.1). */
export const ONE_CLICK = "List-Unsubscribe=One-Click";

/** Does what a mail program does when its reader unsubscribes by one click (RFC 8058). */
export function unsubscribeByOneClick(link: string): Promise<Response> {
  return fetch(link, { method: "POST", body: new URLSearchParams(ONE_CLICK) });
}
