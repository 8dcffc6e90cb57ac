import { backgroundDeadline, type Database, queryable } from "@tidings/database/database";
import { permission, Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { SubmissionService } from "@tidings/proto/tidings/content/v1/submission";
import type { Repository } from "@tidings/resource/repository-options";
import type { Actor } from "@tidings/rpc/actor";
import { denied, notFound } from "@tidings/rpc/fault";
import { optionOf } from "@tidings/rpc/option";
import { reach } from "@tidings/rpc/permission";
import type { OpenedFile, SentFile } from "../file/opened-file.ts";
import type { FileStore } from "../file/store.ts";
import { findFile } from "./submission-files.ts";

const FORMS = optionOf(SubmissionService, permission);

/** Opens files of submissions for callers who may view the form. Throws PERMISSION_DENIED, NOT_FOUND. */
export function submissionFileOpener(
  database: Database,
  forms: Repository<Form>,
  store: FileStore,
): (actor: Actor, sent: SentFile) => Promise<OpenedFile> {
  return async (actor, { formId, submissionId, alias }) => {
    const reachOf = (verb: Verb) => reach(actor, FORMS, verb);
    if (reachOf(Verb.VIEW) === "none") throw denied();
    const deadlineMs = backgroundDeadline();
    const call = { actor, deadlineMs, requestId: "", reach: reachOf };
    const form = await forms.get(formId, call);
    const file = await findFile(queryable(database, deadlineMs), { form, submissionId, alias });
    const bytes = file && (await store.open(file.name));
    if (!file || !bytes) throw notFound();
    return { bytes, name: file.originalName, size: file.size };
  };
}
