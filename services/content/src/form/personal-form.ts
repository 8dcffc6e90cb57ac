import { backgroundDeadline, type Database, prepared, queryable } from "@tidings/database/database";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { isOutage } from "@tidings/rpc/outage";
import type { Request } from "express";
import { visitOf } from "../visit/visit.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import { mappedFields, withSyncedLists } from "./contact-field.ts";
import { callOf, type FormRouteOptions } from "./form-options.ts";
import { shownForm } from "./form-pages.ts";
import type { FormShown } from "./html.ts";
import { usesProfiling } from "./profiling.ts";
import { hiddenFrom, type Submitting } from "./submit.ts";

/** The form as this visitor gets it: a proven contact is not asked for what is known, and finds it filled in where the form says so. */
export async function markupFor(
  { submitting, settings }: FormRouteOptions,
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
    ...known,
    ...shown,
    filled: new Map([...(known.filled ?? []), ...(shown.filled ?? [])]),
  });
}

const provenStatement = prepared(
  "visitor_devices_proven",
  "select contact_id from visitor_devices where id = $1 and is_proven",
);

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

async function provenContact(
  database: Database,
  request: Request,
  settings: VisitSettings,
): Promise<number | undefined> {
  const { device } = visitOf(request, new Map(), settings);
  if (!device || device.isNew) return undefined;
  const [row] = await database.query(provenStatement, [device.id], backgroundDeadline());
  return row ? Number(row.contact_id) : undefined;
}
