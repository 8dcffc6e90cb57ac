import { backgroundDeadline, type Database, queryable } from "@tidings/database/database";
import { type Request, type Response, Router } from "express";
import { describeDownload } from "../file/describe-file.ts";
import { sendBytes } from "../file/send-bytes.ts";
import type { FileStore } from "../file/store.ts";
import { isStoredName } from "../file/stored-name.ts";
import { readForm } from "./read-form.ts";
import { fileNamed, isPublic, PUBLIC_FOLDER } from "./submission-files.ts";

/** `/media/forms/<name>`: files of submissions whose field is public as the form is now, as downloads for everybody. */
export function submissionFileRoutes(database: Database, store: FileStore): Router {
  const router = Router({ caseSensitive: true });
  router.get(`${PUBLIC_FOLDER}:name`, async (request: Request, response: Response, next) => {
    const name = String(request.params.name);
    const queries = queryable(database, backgroundDeadline());
    const file = isStoredName(name) ? await fileNamed(queries, name) : undefined;
    const form = file && (await readForm(queries, file.formId));
    const bytes = form && isPublic(form, file.fieldId) ? await store.open(name) : undefined;
    if (!file || !bytes) return next();
    describeDownload(response, file.originalName, file.size);
    if (request.method !== "HEAD") return sendBytes(response, bytes);
    bytes.destroy();
    response.end();
  });
  return router;
}
