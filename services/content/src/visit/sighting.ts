import type { Place } from "./places.ts";

/** How a visitor came, by the parameters of the address. */
export interface Utm {
  campaign: string;
  content: string;
  medium: string;
  source: string;
  term: string;
}

/** A browser that was seen. */
export interface Sighting {
  deviceId: string;
  /** Made for this visit: nobody had it before. */
  isNewDevice: boolean;
  at: number;
  ip: string;
  userAgent: string;
  timeZone: string;
  locale: string;
  utm?: Utm | undefined;
  /** The address that the visitor came to, with its parameters. */
  url: string;
  referer: string;
  remoteHost: string;
  query: Record<string, string>;
  /** The hit that this visit is, when it is one. */
  hitId?: string | undefined;
  /** The contact that a signed link proves the visitor to be. */
  provenContactId?: number | undefined;
  /** Names what was reported: sent again by the same browser, it is recorded once. */
  key?: number | undefined;
  /** The visitor agreed to be recognised. */
  isConsenting?: boolean | undefined;
  /** A browser that is not known is taken for that of the visitor who came from the same address before. */
  isFoundByAddress?: boolean | undefined;
  place?: Place | undefined;
}

/** A visitor as answers show them. */
export interface ShownVisitor {
  /** The id of the contact, once the visitor has proven to be that one. */
  shownContactId: number;
}

/** How a device came to its contact, as `tidings.contact.v1.Identification` names it; empty where it was that contact's before. */
export type Proof = "" | "device" | "link" | "address";

/** A visitor, as the visits before have left them. */
export interface Visitor extends ShownVisitor {
  contactId: number;
  /** The device made the contact, or showed a signed link of it. */
  isProven: boolean;
  /** The proof holds now: what is known of the contact may be shown. */
  mayRead: boolean;
  /** The contact begins with this visit. */
  isNew: boolean;
  /** The latest hit before. */
  previousHitId: string | undefined;
  proof: Proof;
  /** The visitor has agreed to be recognised, and had not before. */
  isAgreeing: boolean;
  /** Nothing of the visit is recorded before the click that led to it has its verdict. */
  isWaiting?: boolean;
}
