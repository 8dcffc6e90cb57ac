import { Verb } from "@tidings/proto/tidings/api/v1/options";

/** What actions and events do to the contacts they run for. */
export const EDIT_CONTACTS = { permission: "lead:leads", verb: Verb.EDIT, does: "edit contacts" };

/** It reaches contacts of everybody, and cannot be undone. */
export const DELETE_CONTACTS = {
  permission: "lead:leads",
  verb: Verb.DELETE,
  does: "delete contacts of everybody",
  toAll: true,
};
