import type { ChosenNotice } from "../notice/choose-notices.ts";
import type { Sighting } from "../visit/sighting.ts";
import type { ActionOutcome } from "./action-outcome.ts";
import type { CameBy } from "./came-by.ts";

/** A submission says so much of its contact: values by the names of fields, also of its company, consent, and how the visitor came. */
export interface Said {
  values: Record<string, string>;
  companyValues: Record<string, string>;
  /** The visitor's answer to the form's question for consent, and the page of the form. */
  consent?: { given: boolean; where: string } | undefined;
  cameBy?: CameBy | undefined;
}

/** A submission that something follows from. */
export interface Following extends Said {
  submissionId: number;
  /** A UUID, by which all that follows takes effect once. */
  key: string;
  formId: number;
  /** Milliseconds since the epoch. */
  dateSubmitted: number;
  /** The contact that the visitor was so far; 0 where nobody knows. */
  contactId: number;
  /** The contact begins with this submission. */
  isNew: boolean;
  isKiosk: boolean;
  keepsKnownValues: boolean;
  /** The visitor has proven to be that contact. */
  isProven: boolean;
  /** An id for a contact that has to be made. */
  newContactId: number;
  sighting: Sighting | undefined;
  /** The visitor agreed to be recognised before, by a page's script. */
  isAgreeing: boolean;
  ip: string;
}

/** The work that is left: first finding out whose submission it is, then one action after the other. */
export interface Task extends Following {
  /** Known once the contact is. */
  identifiedAs?: number;
  isFound?: boolean;
  isApart?: boolean;
  /** Actions that are done. */
  actionsDone?: number;
  outcome?: ActionOutcome;
  /** The contact's locale, of an action that is an email to it. */
  locale?: string;
  /** The mails that an action is. */
  notices?: ChosenNotice[];
  /** How often the repost that is under way was looked at. */
  looks?: number;
}

/** Names the search for the contact that sent a submission. */
export function searchOf({ key }: Pick<Following, "key">): string {
  return `form ${key}`;
}
