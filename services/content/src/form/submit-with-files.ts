import { queryable } from "@tidings/database/database";
import { isObject, type JsonObject } from "@tidings/resource/json-member";
import type { Call } from "@tidings/rpc/call";
import { unavailable } from "@tidings/rpc/fault";
import { textOf } from "@tidings/runtime/plain-text";
import { contentError } from "../file/content-error.ts";
import { keepAll } from "../file/keep-bytes.ts";
import type { FileStore } from "../file/store.ts";
import { newStoredName } from "../file/stored-name.ts";
import { usesProfiling } from "./profiling.ts";
import type { ReceivedFile } from "./quarantine.ts";
import { keptAmong, type StoredFile } from "./submission-files.ts";
import { type Sent, type SubmissionAnswer, type Submitting, submitForm } from "./submit.ts";
import { NOTHING_KNOWN, readSubmitted } from "./submitted.ts";

/** Nothing of a stored name is a sender's. */
const EXTENSION = "bin";

export interface Filed {
  sent: Sent;
  /** Received files by the aliases of their fields. */
  files: ReadonlyMap<string, ReceivedFile>;
}

/**
 * Takes a submission with its files. Bytes are judged and stored first; those that do not belong to a submission in the end are removed, or
 * swept after a kill. Throws what `submitForm` throws, UNAVAILABLE where the store takes nothing.
 */
export async function submitWithFiles(
  submitting: Submitting,
  store: FileStore,
  { sent, files }: Filed,
  call: Call,
): Promise<SubmissionAnswer> {
  if (files.size === 0) return submitForm(submitting, sent, call);
  const values = await withFaults(sent.values, files);
  const { blockedEmails } = submitting;
  const wanted = wantedFiles({ ...sent, values }, { files, blockedEmails });
  return keepAll(reachable(store), wanted, async () => {
    const saved = await submitForm(submitting, { ...sent, values, files: wanted }, call);
    const names = wanted.map(({ name }) => name);
    const kept = await keptAmong(queryable(submitting.database, call.deadlineMs), names);
    return { saved, unused: names.filter((name) => !kept.has(name)) };
  });
}

/** The values, with the fault in the bytes of each file. */
async function withFaults(values: JsonObject, files: Filed["files"]): Promise<JsonObject> {
  const judged = Object.entries(values).map(async ([alias, value]) => {
    const file = files.get(alias);
    if (!file || !isObject(value)) return [alias, value];
    const fault = await contentError(file.path, textOf(value.name) ?? "", file.size);
    return [alias, { ...value, fault }];
  });
  return Object.fromEntries(await Promise.all(judged));
}

/** The files that the submission will have if it is taken; none of one that cannot be. */
function wantedFiles(
  { form, values, hidden = NOTHING_KNOWN.hidden }: Pick<Sent, "form" | "values" | "hidden">,
  { files, blockedEmails }: Pick<Filed, "files"> & Pick<Submitting, "blockedEmails">,
): (StoredFile & ReceivedFile)[] {
  const { errors, results } = readSubmitted(form, values, { ...NOTHING_KNOWN, hidden, blockedEmails });
  // Profiling may forgive errors in fields that the visitor was not shown.
  if (errors.length > 0 && !usesProfiling(form)) return [];
  return [...results].flatMap(([{ alias, type }, name]) => {
    const file = type === "file" && name !== "" ? files.get(alias) : undefined;
    return file ? [{ ...file, alias, name: newStoredName(EXTENSION) }] : [];
  });
}

/** A store that fails is away for the moment. */
function reachable(store: FileStore): FileStore {
  return {
    ...store,
    put: (name, path) => store.put(name, path).catch((error) => Promise.reject(unavailable(error))),
  };
}
