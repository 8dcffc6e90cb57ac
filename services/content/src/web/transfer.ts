import { permission, Verb } from "@tidings/proto/tidings/api/v1/options";
import { ThemeService } from "@tidings/proto/tidings/content/v1/theme";
import type { Actor, ActorVerifier } from "@tidings/rpc/actor";
import { Code, denied, toFault } from "@tidings/rpc/fault";
import type { AnswerOnce } from "@tidings/rpc/idempotency";
import { optionOf } from "@tidings/rpc/option";
import { reach } from "@tidings/rpc/permission";
import { ACTOR_HEADER, faultBytes, REPLAYED_HEADER, REQUEST_ID_HEADER } from "@tidings/rpc/transfer";
import { takesLong } from "@tidings/runtime/http-server";
import type { Log } from "@tidings/runtime/log";
import { type NextFunction, type Request, type Response, Router } from "express";
import { describeDownload } from "../file/describe-file.ts";
import type { OpenedFile, SentFile } from "../file/opened-file.ts";
import { type Saved, saveOnce } from "../file/save-once.ts";
import { sendBytes } from "../file/send-bytes.ts";
import { type UploadContext, uploadFile } from "../file/upload-file.ts";
import { openTheme, type ThemeContext, uploadTheme } from "../theme/theme-bytes.ts";

export interface TransferOptions extends UploadContext, ThemeContext {
  openSubmissionFile: (actor: Actor, sent: SentFile) => Promise<OpenedFile>;
  log: Log;
  verifyActor: ActorVerifier;
  answerOnce: AnswerOnce;
}

type TransferResponse = Response<unknown, { actor: Actor }>;

const THEMES = optionOf(ThemeService, permission);

/** Routes for whole files that the gateway sends and fetches for signed-in callers. Everybody else gets 404. */
export function transferRoutes(options: TransferOptions): Router {
  const { log, verifyActor, answerOnce } = options;
  const router = Router({ caseSensitive: true });
  router.use((request: Request, response: TransferResponse, next: NextFunction) => {
    const token = request.get(ACTOR_HEADER);
    if (token === undefined) return next("router");
    response.locals.actor = verifyActor(token);
    next();
  });
  router.post("/files/:directory", async (request: Request, response: TransferResponse) => {
    takesLong(request);
    const { actor } = response.locals;
    const directory = String(request.params.directory);
    const once = saveOnce(request, answerOnce);
    sendSaved(response, await uploadFile(options, request, { actor, directory, saveOnce: once }));
  });
  router.post("/themes", async (request: Request, response: TransferResponse) => {
    const { actor } = response.locals;
    requireRight(actor, Verb.CREATE);
    takesLong(request);
    const once = saveOnce(request, answerOnce);
    sendSaved(response, await uploadTheme(options, request, { actor, saveOnce: once }));
  });
  router.get("/themes/:key", async (request: Request, response: TransferResponse) => {
    requireRight(response.locals.actor, Verb.VIEW);
    const bytes = await openTheme(options, String(request.params.key));
    response.type("application/zip");
    await sendBytes(response, bytes);
  });
  router.get("/forms/:formId/:submissionId/:alias", async (request: Request, response: TransferResponse) => {
    const { formId, submissionId, alias } = request.params;
    const sent = { formId: Number(formId), submissionId: Number(submissionId), alias: String(alias) };
    const { bytes, name, size } = await options.openSubmissionFile(response.locals.actor, sent);
    describeDownload(response, name, size);
    await sendBytes(response, bytes);
  });
  router.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    const fault = toFault(error);
    const requestId = request.get(REQUEST_ID_HEADER);
    if (fault.code === Code.INTERNAL)
      log.error({ err: fault.cause ?? fault, request_id: requestId }, "transfer failed");
    if (response.headersSent) return void response.destroy();
    response.status(fault.code === Code.INTERNAL ? 500 : 400).type("application/x-protobuf");
    response.end(faultBytes(fault));
  });
  return router;
}

function requireRight(actor: Actor, verb: Verb): void {
  if (reach(actor, THEMES, verb) === "none") throw denied();
}

function sendSaved(response: Response, { answer, isReplayed }: Saved): void {
  if (isReplayed) response.setHeader(REPLAYED_HEADER, "true");
  response.type("application/json").end(answer);
}
