import { createOutbound } from "@tidings/outbound/outbound";
import { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { type Form, FormMethodService } from "@tidings/proto/tidings/content/v1/form";
import { FormService } from "@tidings/proto/tidings/content/v1/form_service";
import { SubmissionService } from "@tidings/proto/tidings/content/v1/submission";
import { implementStandard } from "@tidings/resource/implement-resource";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";
import { startTotals } from "@tidings/resource/totals";
import { implement } from "@tidings/rpc/server";
import { startSealing } from "@tidings/secrets/sealing";
import { secretBox } from "@tidings/secrets/secret-box";
import type { Foundation, Parts } from "@tidings/service/start-service";
import type { ContentConfig } from "../config.ts";
import type { MailParts } from "../send/mail-parts.ts";
import type { ContactIds } from "../visit/contact-ids.ts";
import type { LinkPreview } from "../web/preview.ts";
import { followSubmissions } from "./follow-submission.ts";
import { formMethods, forms } from "./form.ts";
import { REPOST_MS, reposting } from "./repost.ts";
import { repostHeaders } from "./repost-secret.ts";
import { SPAM_TOTAL } from "./spam.ts";
import { submissionHandlers } from "./submission.ts";
import { SUBMISSION_TOTAL } from "./submission-tables.ts";
import type { Submitting } from "./submit.ts";
import { submittersOf } from "./submitter.ts";
import { submissionUpkeep } from "./upkeep.ts";

/** Forms, and what people fill in. */
export function openForms(
  { config, database, outbox, log, upstreams }: Foundation<ContentConfig>,
  context: ResourceContext,
  { ids, linkPreview, mail }: { ids: ContactIds; linkPreview: LinkPreview; mail: MailParts },
): Required<Pick<Parts, "services" | "work" | "jobs">> & { rows: Repository<Form>; submitting: Submitting } {
  const box = secretBox(config.CONTENT_SECRET_KEYS);
  const shown = { publicUrl: config.PUBLIC_URL, prefix: config.PUBLIC_PREFIX };
  const rows = forms(context, { shown, allowed: config.OUTBOUND_ALLOW_CIDRS, box });
  const submitters = submittersOf(upstreams);
  const submitting = {
    database,
    submitters,
    ids,
    blockedEmails: config.FORM_BLOCKED_EMAILS,
    keepsKnownValues: config.FORM_UPDATES === "proven",
    filesBytesMax: config.FORM_FILES_BYTES_MAX,
  };
  const contacts = upstreams.client("contact", ContactCommandService);
  const outbound = createOutbound({ allowed: config.OUTBOUND_ALLOW_CIDRS, timeoutMs: REPOST_MS });
  return {
    rows,
    submitting,
    services: [
      implementStandard(FormService, rows),
      implement(FormMethodService, formMethods(rows, linkPreview)),
      implement(SubmissionService, submissionHandlers(context, rows, submitting, config.PUBLIC_URL)),
    ],
    work: {
      reposts: { stop: outbound.close },
      sealing: startSealing(database, repostHeaders, { box, log }),
      "submission totals": startTotals(database, outbox, log, [SUBMISSION_TOTAL, SPAM_TOTAL]),
    },
    jobs: [
      submissionUpkeep(database, log, config.FORM_SPAM_DAYS),
      followSubmissions({
        ...{ database, outbox, log, contacts },
        publicUrl: config.PUBLIC_URL,
        rendering: mail.rendering,
        hasTransport: mail.way !== undefined,
        wake: mail.wake,
      }),
      reposting({ database, log, outbound, submitters, box, prefix: config.PUBLIC_PREFIX }),
    ],
  };
}
