import { backgroundDeadline, queryable } from "@tidings/database/database";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { Fault } from "@tidings/rpc/fault";
import { isOutage } from "@tidings/rpc/outage";
import { html } from "@tidings/runtime/html";
import type { Request } from "express";
import { provenContact } from "../visit/proven-contact.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import { mappedFields, withSyncedLists } from "./contact-field.ts";
import { callOf, type FormRouteOptions, openForm } from "./form-options.ts";
import { shownForm } from "./form-pages.ts";
import type { FormShown } from "./html.ts";
import { usesProfiling } from "./profiling.ts";
import { hiddenFrom, type Submitting } from "./submit.ts";
import { signShown } from "./suspicion.ts";

/** The form as this visitor gets it: a proven contact is not asked for what is known, and finds it filled in where the form says so. */
export async function markupFor(
  { submitting, settings, suspicion }: FormRouteOptions,
  request: Request,
  form: Form,
  shown: Partial<FormShown>,
): Promise<string> {
  const { database } = submitting;
  const fields = await mappedFields(queryable(database, backgroundDeadline()), [form]);
  const known = await knownTo(submitting, settings, request, form);
  return shownForm(withSyncedLists(form, fields), {
    publicUrl: settings.publicUrl,
    prefix: settings.prefix,
    shownAt: signShown(form.id, suspicion, Date.now()),
    ...known,
    ...shown,
    filled: new Map([...(known.filled ?? []), ...(shown.filled ?? [])]),
  });
}

async function knownTo(
  submitting: Submitting,
  settings: VisitSettings,
  request: Request,
  form: Form,
): Promise<{ hidden?: Set<number>; filled?: Map<string, string[]> }> {
  const isPersonal = usesProfiling(form) || form.fields.some(({ isAutoFill }) => isAutoFill);
  if (!isPersonal || form.inKioskMode) return {};
  const contactId = await provenContact(submitting.database, request, settings);
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

/** A form as it stands in a page, for the browser that the token names. */
export type FormInPage = (
  id: number,
  place: { pageId: number; deviceToken: string | undefined },
) => Promise<string | undefined>;

/** Forms as they stand in pages; undefined for one that takes nothing now. */
export function formsInPages(options: FormRouteOptions): FormInPage {
  return async (id, { pageId, deviceToken }) => {
    const form = await openForm(options, String(id)).catch((error) => {
      if (error instanceof Fault && error.reason === "FORM_CLOSED") return undefined;
      throw error;
    });
    if (!form) return undefined;
    const { submitting, settings, suspicion, scriptUrl } = options;
    const fields = await mappedFields(queryable(submitting.database, backgroundDeadline()), [form]);
    const markup = shownForm(withSyncedLists(form, fields), {
      publicUrl: settings.publicUrl,
      prefix: settings.prefix,
      shownAt: signShown(form.id, suspicion, Date.now()),
      pageId,
      deviceToken,
    });
    return `${markup}${html`<script src="${scriptUrl}" defer></script>`.markup}`;
  };
}
