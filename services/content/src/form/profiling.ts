import type { Form, FormField } from "@tidings/proto/tidings/content/v1/form";
import type { JsonObject } from "@tidings/resource/json-member";
import { isViewOnly } from "./field-types.ts";

/** So many submissions of a contact are looked at, the latest ones. */
export const SUBMISSIONS_SEEN_MAX = 100;

/** Values that are known of the visitor of a form. */
export interface Acquaintance {
  /** Values of the contact's fields, by alias. */
  contact: JsonObject;
  /** Earlier submissions of this form: the texts of each by the ids of the fields. */
  submissions: JsonObject[];
}

/** Does the form ask for less where more is known? */
export function usesProfiling({ fields, inKioskMode, progressiveProfilingLimit = 0 }: Form): boolean {
  const isProfiled = ({ showWhenValueExists, showAfterXSubmissions = 0 }: FormField) =>
    showWhenValueExists === false || showAfterXSubmissions > 0;
  return !inKioskMode && (progressiveProfilingLimit > 0 || fields.some(isProfiled));
}

/**
 * Ids of the fields that this visitor is not shown: those whose value is known, those that wait for more submissions, and those
 * beyond the most that are shown at once, in the order of the form. Whatever is always displayed is shown, and counts.
 */
export function hiddenFields(form: Form, acquaintance: Acquaintance): Set<number> {
  if (!usesProfiling(form)) return new Set();
  const asking = form.fields.filter((field) => !isViewOnly(field) && field.type !== "hidden");
  const { length: always } = asking.filter(({ alwaysDisplay }) => alwaysDisplay);
  const limit = form.progressiveProfilingLimit || Number.POSITIVE_INFINITY;
  let shown = always;
  const isHidden = (field: FormField) => {
    if (field.alwaysDisplay) return false;
    if (isUnneeded(field, acquaintance) || shown >= limit) return true;
    shown += 1;
    return false;
  };
  return new Set(asking.filter(isHidden).map(({ id }) => id));
}

/** Ids of the fields that fill themselves in where their value is known, and are not shown then (engines.md 5.10). */
export function unseenFields({ fields }: Form, filled: ReadonlyMap<string, string[]>): Set<number> {
  // An input that is not seen has one value.
  const isUnseen = ({ alias, alwaysDisplay, isAutoFill, showWhenValueExists }: FormField) =>
    isAutoFill && showWhenValueExists === false && !alwaysDisplay && filled.get(alias)?.length === 1;
  return new Set(fields.filter(isUnseen).map(({ id }) => id));
}

function isUnneeded(field: FormField, { contact, submissions }: Acquaintance): boolean {
  if ((field.showAfterXSubmissions ?? 0) > submissions.length) return true;
  // Filled in by itself it is there, unseen.
  if (field.showWhenValueExists !== false || field.isAutoFill) return false;
  const { mappedField, mappedObject } = field;
  const isKnown = mappedField && mappedObject === "contact" && isValue(contact[mappedField]);
  return isKnown || submissions.some((results) => isValue(results[field.id]));
}

function isValue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}
