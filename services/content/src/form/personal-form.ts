import { backgroundDeadline, type Database, queryable } from "@tidings/database/database";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { isOutage } from "@tidings/rpc/outage";
import { html } from "@tidings/runtime/html";
import { provenContactOf } from "../visit/proven-contact.ts";
import { signDevice, type Visit } from "../visit/visit.ts";
import { mappedFields, withSyncedLists } from "./contact-field.ts";
import { callOf, type FormRouteOptions, openForm, unlessClosed } from "./form-options.ts";
import { shownForm } from "./form-pages.ts";
import type { FormShown } from "./html.ts";
import { unseenFields, usesProfiling } from "./profiling.ts";
import { signShown } from "./showing.ts";
import { hiddenFrom, type Submitting } from "./submit.ts";

/** The viewer of a form. */
export interface FormViewer {
  /** The browser: the form says whose it is when it is sent. */
  deviceId?: string | undefined;
  /** The contact that the viewer has proven to be. */
  findContact(): Promise<number | undefined>;
}

/** A viewer of whom nothing is known. */
export const NOBODY: FormViewer = { findContact: async () => undefined };

/** The browser of a visit as the viewer of a form. */
export function viewerOf({ device }: Pick<Visit, "device">, database: Database): FormViewer {
  if (!device) return NOBODY;
  const findContact = async () => (device.isNew ? undefined : provenContactOf(database, device.id));
  return { deviceId: device.id, findContact };
}

/** The form as its viewer gets it, who is not asked for what is known, and finds it filled in where the form says so. */
export async function markupFor(
  options: FormRouteOptions,
  form: Form,
  viewer: FormViewer,
  shown: Partial<FormShown> = {},
): Promise<string> {
  const { submitting, settings } = options;
  const { deviceId } = viewer;
  const known = await knownTo(submitting, form, viewer);
  const filled = new Map([...(known.filled ?? []), ...(shown.filled ?? [])]);
  const deviceToken = deviceId === undefined ? undefined : signDevice(deviceId, settings);
  return markupOf(options, form, { ...known, deviceToken, ...shown, filled }, deviceId);
}

/** The form with the lists that its fields have now, which says when and to which browser it is shown. */
async function markupOf(
  { submitting, settings, suspicion }: FormRouteOptions,
  form: Form,
  shown: Partial<FormShown>,
  deviceId?: string,
): Promise<string> {
  const { publicUrl, prefix, now } = settings;
  const fields = await mappedFields(queryable(submitting.database, backgroundDeadline()), [form]);
  const { hidden } = shown;
  const shownAt = signShown({ formId: form.id, at: now(), deviceId, hidden }, suspicion);
  return shownForm(withSyncedLists(form, fields), { publicUrl, prefix, shownAt, ...shown });
}

async function knownTo(
  submitting: Submitting,
  form: Form,
  { findContact }: FormViewer,
): Promise<Pick<FormShown, "hidden" | "unseen" | "filled">> {
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
    const known = new Map(filled);
    const hidden = await hiddenFrom(form, submitting, contactId, call);
    return { filled: known, unseen: unseenFields(form, known), hidden };
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
  viewer: FormViewer;
  /** A preview: the form as it is at this time, which nobody can send. */
  previewAt?: number;
}

/** A form as it stands in a page; undefined for one that takes nothing then. */
export type FormInPage = (id: string, place: FormPlace) => Promise<string | undefined>;

export function formsInPages(options: FormRouteOptions): FormInPage {
  return async (id, { pageId, viewer, previewAt }) => {
    const form = await openForm(options, id, previewAt).catch(unlessClosed);
    if (!form) return undefined;
    const markup = await markupFor(options, form, viewer, { pageId });
    return previewAt === undefined
      ? `${markup}${html`<script src="${options.scriptUrl}" defer></script>`.markup}`
      : markup;
  };
}
