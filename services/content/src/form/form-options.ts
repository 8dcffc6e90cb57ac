import { backgroundDeadline, queryable } from "@tidings/database/database";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { serviceActor } from "@tidings/rpc/actor";
import type { Call } from "@tidings/rpc/call";
import { Fault } from "@tidings/rpc/fault";
import type { FileStore } from "../file/store.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import type { PageAddresses } from "../web/page-address.ts";
import { rowIdOf } from "../web/row-id.ts";
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
  pageAddresses: PageAddresses;
  /** The script of forms. */
  script: () => Promise<string>;
}

const SUBMIT_MS = 20_000;
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
  const rowId = rowIdOf(id);
  return rowId === undefined ? undefined : readForm(queryable(database, backgroundDeadline()), rowId);
}

/** A form that visitors may fill in, now or at another time. Throws FORM_CLOSED. */
export async function openForm(
  options: FormRouteOptions,
  id: string,
  at = options.settings.now(),
): Promise<Form> {
  const form = await findForm(options, id);
  if (!form) throw closed();
  checkOpen(form, at);
  return form;
}

/** Undefined for FORM_CLOSED, where a form that takes nothing is none. */
export function unlessClosed(error: unknown): undefined {
  if (error instanceof Fault && error.reason === "FORM_CLOSED") return undefined;
  throw error;
}
