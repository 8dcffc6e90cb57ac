/**
 * THE table of what public tokens are for. A token for one purpose is none for another. A `lasting` token works as long as its key is among those
 * that read; an `ending` one has its end in it, and works no longer.
 */
export const TOKEN_PURPOSES = {
  /** The contact and the message that a followed link is of. */
  click: "lasting",
  /** The address on the web that a link leads one reader to, whose author wrote a field of the contact in its place. */
  "link target": "lasting",
  /** The hit that a landing page recorded while it was served. */
  hit: "lasting",
  /** The submission that a message page is about. */
  "form message": "lasting",
  /** When a form was shown by the public web. */
  "form shown": "lasting",
  /** The contact whose preferences a link opens. */
  preference: "lasting",
  /** The send that a contact unsubscribes from. */
  unsubscribe: "lasting",
  /** The send that a picture in a message belongs to. */
  open: "lasting",
  /** The send that is shown in a browser. */
  "web view": "lasting",
  /** The send that a returned message is about. */
  bounce: "lasting",
  /** The browser in which a form of a page in a sandbox stands. */
  device: "ending",
  /** The page, form or email that is shown before it is published, the contact it is shown for, and the time. */
  preview: "ending",
  /** The mail in the folder of mails that were not sent, and the part of it that is shown. */
  "kept mail": "ending",
} as const satisfies Record<string, "lasting" | "ending">;

type Purposes = typeof TOKEN_PURPOSES;

export type LastingPurpose = {
  [P in keyof Purposes]: Purposes[P] extends "lasting" ? P : never;
}[keyof Purposes];

export type EndingPurpose = Exclude<keyof Purposes, LastingPurpose>;
