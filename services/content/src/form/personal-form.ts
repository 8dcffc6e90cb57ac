import { backgroundDeadline, queryable } from "@tidings/database/database";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { isOutage } from "@tidings/rpc/outage";
import { html } from "@tidings/runtime/html";
import type { Request } from "express";
import { provenContact } from "../visit/proven-contact.ts";
import { mappedFields, withSyncedLists } from "./contact-field.ts";
import { callOf, type FormRouteOptions, openForm, unlessClosed } from "./form-options.ts";
import { shownForm } from "./form-pages.ts";
import type { FormShown } from "./html.ts";
import { usesProfiling } from "./profiling.ts";
import { hiddenFrom, type Submitting } from "./submit.ts";
import { signShown } from "./suspicion.ts";

/** The form as this visitor gets it. */
export function markupFor(
  options: FormRouteOptions,
  request: Request,
  form: Form,
  shown: Partial<FormShown>,
): Promise<string> {
  const { submitting, settings } = options;
  return markupForContact(options, form, shown, () => provenContact(submitting.database, request, settings));
}

/** The form as a contact gets it, who is not asked for what is known, and finds it filled in where the form says so. */
export async function markupForContact(
  options: FormRouteOptions,
  form: Form,
  shown: Partial<FormShown>,
  findContact: () => Promise<number | undefined>,
): Promise<string> {
  const known = await knownTo(options.submitting, form, findContact);
  const filled = new Map([...(known.filled ?? []), ...(shown.filled ?? [])]);
  return markupOf(options, form, { ...known, ...shown, filled });
}

/** The form with the lists that its fields have now, and the time at which it is shown. */
async function markupOf(
  { submitting, settings, suspicion }: FormRouteOptions,
  form: Form,
  shown: Partial<FormShown>,
): Promise<string> {
  const { publicUrl, prefix, now } = settings;
  const fields = await mappedFields(queryable(submitting.database, backgroundDeadline()), [form]);
  const shownAt = signShown(form.id, suspicion, now());
  return shownForm(withSyncedLists(form, fields), { publicUrl, prefix, shownAt, ...shown });
}

async function knownTo(
  submitting: Submitting,
  form: Form,
  findContact: () => Promise<number | undefined>,
): Promise<{ hidden?: Set<number>; filled?: Map<string, string[]> }> {
  const isPersonal = usesProfiling(form) || form.fields.some(({ isAutoFill }) => isAutoFill);
  if (!isPersonal || form.inKioskMode) return {};
  const contactId = await findContact();
  const call = callOf();
  try {
    const values = contactId === undefined ? {} : await submitting.submitters.valuesOf(contactId, call);
    const filled = form.fields.flatMap(({ alias, isAutoFill, mappedField, mappedObject }) => {
      const value = isAutoFill && mappedField && mappedObject === "contact" ? values[mappedField] : undefined;
      return typeof value === "string" && value !== "" ? [[alias, value.split("|")] as const] : [];
    });
    return { filled: new Map(filled), hidden: await hiddenFrom(form, submitting, contactId, call) };
  } catch (error) {
    // The form is whole without what is known of its visitor.
    if (isOutage(error)) return {};
    throw error;
  }
}

/** A form by its id, as somebody gets it who is not known; undefined for one that takes nothing now. */
export async function markupForNobody(options: FormRouteOptions, id: number): Promise<string | undefined> {
  const form = await openForm(options, String(id)).catch(unlessClosed);
  return form && markupOf(options, form, {});
}

/** The page that a form stands in, and for whom. */
export interface FormPlace {
  pageId: number;
  /** The signed id of the browser, where that may be known. */
  deviceToken?: string | undefined;
  /** A preview: the form as it is at this time, which nobody can send. */
  previewAt?: number;
}

/** A form as it stands in a page; undefined for one that takes nothing then. */
export type FormInPage = (id: string, place: FormPlace) => Promise<string | undefined>;

export function formsInPages(options: FormRouteOptions): FormInPage {
  return async (id, { pageId, deviceToken, previewAt }) => {
    const form = await openForm(options, id, previewAt).catch(unlessClosed);
    if (!form) return undefined;
    const markup = await markupOf(options, form, { pageId, deviceToken });
    return previewAt === undefined
      ? `${markup}${html`<script src="${options.scriptUrl}" defer></script>`.markup}`
      : markup;
  };
}
