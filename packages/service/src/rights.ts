import { Verb } from "@tidings/proto/tidings/api/v1/options";

/** The right that a writer needs for actions and events that change contacts. */
export const EDIT_CONTACTS = { permission: "lead:leads", verb: Verb.EDIT, does: "edit contacts" };

/** Likewise for deletions: they reach contacts of all owners and cannot be undone. */
export const DELETE_CONTACTS = {
  permission: "lead:leads",
  verb: Verb.DELETE,
  does: "delete contacts of everybody",
  toAll: true,
};
