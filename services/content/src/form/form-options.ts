import { backgroundDeadline, queryable } from "@tidings/database/database";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { serviceActor } from "@tidings/rpc/actor";
import type { Call } from "@tidings/rpc/call";
import type { FileStore } from "../file/store.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import type { FormPages } from "./form-pages.ts";
import { checkOpen, closed, readForm } from "./read-form.ts";
import type { Submitting } from "./submit.ts";
import type { SuspicionRules } from "./suspicion.ts";

export interface FormRouteOptions extends FormPages {
  submitting: Submitting;
  settings: VisitSettings;
  suspicion: SuspicionRules;
  bytesMax: number;
  store: FileStore;
  /** Where files lie until their submission is taken. */
  arrivals: string;
  /** Keys that sign which submission a message page is about. */
  tokenKeys: string[];
  /** The script of forms. */
  script: () => Promise<string>;
}

const SUBMIT_MS = 20_000;
const ID = /^[1-9]\d{0,9}$/;
const actor = serviceActor("Forms");

/** The call in which a visitor's request is served. */
export function callOf(): Call {
  return { actor, deadlineMs: Date.now() + SUBMIT_MS, requestId: "", reach: () => "all" };
}

/** The form of this id, whether or not it is open; undefined when there is none. */
export async function findForm(
  { submitting: { database } }: FormRouteOptions,
  id: string,
): Promise<Form | undefined> {
  return ID.test(id) ? readForm(queryable(database, backgroundDeadline()), Number(id)) : undefined;
}

/** A form that visitors may fill in now. Throws FORM_CLOSED. */
export async function openForm(options: FormRouteOptions, id: string): Promise<Form> {
  const form = await findForm(options, id);
  if (!form) throw closed();
  checkOpen(form, Date.now());
  return form;
}
