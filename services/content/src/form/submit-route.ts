import { randomUUID } from "node:crypto";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { Fault } from "@tidings/rpc/fault";
import { formNamedIn } from "@tidings/rpc/public-paths";
import { html } from "@tidings/runtime/html";
import type { PublicTokens } from "@tidings/secrets/public-token";
import type { Request, Response } from "express";
import { addressOf } from "../visit/page-hit.ts";
import { withoutProofs } from "../visit/proofs.ts";
import type { Sighting } from "../visit/sighting.ts";
import { keepDevice, namedVisitOf, type Visit } from "../visit/visit.ts";
import { awaitReposts } from "./await-reposts.ts";
import { type CameBy, cameByOf, queryOf } from "./came-by.ts";
import { answerJson, type FormAnswer, refusedAnswer, takenAnswer, withRepost } from "./form-answer.ts";
import { callOf, type FormRouteOptions, findForm, openForm } from "./form-options.ts";
import { sendFormPage, sendToParent } from "./form-pages.ts";
import { formWord } from "./html.ts";
import { markupFor, viewerOf } from "./personal-form.ts";
import { closed } from "./read-form.ts";
import { type ReceivedForm, withReceivedForm } from "./receive-submission.ts";
import { returnAddress } from "./return-address.ts";
import { printOf } from "./same-twice.ts";
import { readShown, SHOWN_AT } from "./showing.ts";
import { submitWithFiles } from "./submit-with-files.ts";
import { suspicionOf } from "./suspicion.ts";

/** Takes a submission and answers it as it was sent: for a script, for a hidden frame, or for a person. */
export async function submitRoute(
  options: FormRouteOptions,
  messages: PublicTokens,
  request: Request,
  response: Response,
  isAjax: boolean,
): Promise<void> {
  const { settings, bytesMax, arrivals } = options;
  const receiving = { bytesMax, arrivals, pageMember: `${settings.prefix}page` };
  const { received, id, visit, taking } = await withReceivedForm(request, receiving, async (received) => {
    const id = formNamedIn(request.url) ?? received.members.get("formid") ?? "";
    const visit = namedVisitOf(request, received.parameters, settings);
    return { received, id, visit, taking: await take(options, { request, received, id, visit }) };
  });
  const { members } = received;
  const { answer, form } = taking;
  keepDevice(response, { visit, visitor: taking.visitor }, settings);
  const json = answerJson(answer, form ? formWord(form) : (members.get("formname") ?? ""));
  if (isAjax || parametersOf(request).get("ajax") === "1") return void response.json(json);
  if (members.get("messenger") === "1") return sendToParent(response, json, request.get("origin") ?? "*");
  const back = returnAddress(members.get("return") ?? "", request, settings);
  if (!answer.isTaken) return sendRefusal(options, { response, received, form, answer, back, visit });
  // The message page begins the download, and leads on from there.
  const hasDownload = answer.download !== undefined;
  if (answer.redirect !== undefined && !hasDownload) return response.redirect(302, answer.redirect);
  if (!hasDownload && form?.postAction === "return" && back) {
    if (answer.message && form.postActionProperty)
      back.searchParams.set(`${settings.prefix}Message`, plainText(answer.message));
    return response.redirect(302, back.href);
  }
  const token = messages.sign(`${id} ${taking.submissionId}`);
  response.redirect(302, `/form/message?m=${encodeURIComponent(token)}`);
}

function parametersOf({ url }: Request): URLSearchParams {
  const at = url.indexOf("?");
  return new URLSearchParams(at < 0 ? "" : url.slice(at + 1));
}

/** A message as a text in an address. */
function plainText(markup: string): string {
  return markup.replaceAll(/<[^>]{0,1000}>/g, "").slice(0, 500);
}

interface Taking {
  request: Request;
  received: ReceivedForm;
  id: string;
  visit: Visit;
}

/** The answer to what was sent, whether or not it was taken. */
async function take(options: FormRouteOptions, { request, received, id, visit }: Taking) {
  const { submitting, settings, store, suspicion } = options;
  const { members, values, files } = received;
  try {
    const form = await findForm(options, id);
    if (!form) throw closed();
    const key = members.get("submissionkey");
    const pageId = Number(members.get(`${settings.prefix}page`));
    const referer = withoutProofs(
      addressOf(members.get("return") ?? "") || addressOf(visit.referer),
      settings.prefix,
    );
    const cameBy = cameByOf(form, parametersOf(request), referer);
    const sighting = sightingOf(visit, referer, cameBy);
    const shownTo = { formId: form.id, deviceId: sighting?.deviceId };
    const sent = {
      form,
      key: key || randomUUID(),
      // A device that was not there before is not known again by what it sends at the same moment.
      print:
        key || !sighting || sighting.isNewDevice ? undefined : printOf(form.id, sighting.deviceId, values),
      suspicion: suspicionOf({ formId: form.id, members, visit, request }, suspicion, visit.at),
      ...{ sighting, cameBy },
      hidden: readShown(members.get(SHOWN_AT) ?? "", shownTo, suspicion)?.hidden,
      ip: visit.ip,
      trackingId: sighting?.deviceId,
      referer: referer || undefined,
      pageId: pageId > 0 && pageId <= 2 ** 31 - 1 ? Math.floor(pageId) : undefined,
      values,
    };
    const outcome = await submitWithFiles(submitting, store, { sent, files }, callOf());
    const { visitor, submissionId } = outcome;
    const elsewhere = await awaitReposts(submitting.database, { form, key: sent.key });
    const answer = withRepost(await takenAnswer(outcome, options), elsewhere);
    return { answer, form, visitor, submissionId };
  } catch (error) {
    if (!(error instanceof Fault) || !["INVALID", "FORM_CLOSED", "BAD_REQUEST"].includes(error.reason))
      throw error;
    const form = await openForm(options, id).catch(() => undefined); // it cannot be shown again
    return { answer: refusedAnswer(error), form, visitor: undefined, submissionId: 0 };
  }
}

/** The browser that a submission came from. */
function sightingOf(visit: Visit, referer: string, cameBy: CameBy | undefined): Sighting | undefined {
  const { device, ip, userAgent, isFoundByAddress, place } = visit;
  if (!device) return undefined;
  const query = cameBy?.query ?? queryOf(referer ? new URL(referer).searchParams : []);
  return {
    deviceId: device.id,
    isNewDevice: device.isNew,
    isFoundByAddress,
    place,
    at: visit.at,
    ...{ ip, userAgent, timeZone: "", locale: "", url: referer, referer: "", remoteHost: "", query },
    utm: cameBy?.utm,
  };
}

interface Refusal {
  response: Response;
  received: ReceivedForm;
  form: Form | undefined;
  answer: Extract<FormAnswer, { isTaken: false }>;
  back: URL | undefined;
  visit: Visit;
}

/** All that is wrong, at once: on the page that the form came from, or beside the fields with what was typed. */
async function sendRefusal(options: FormRouteOptions, refusal: Refusal): Promise<void> {
  const { response, received, form, answer, back, visit } = refusal;
  const text = answer.errors.size > 0 ? [...answer.errors.values()].join(" ") : answer.message;
  if (back) {
    back.searchParams.set(`${options.settings.prefix}Error`, text.slice(0, 1_000));
    back.hash = form?.alias ?? "";
    return response.redirect(302, back.href);
  }
  const message = html`${text}`.markup;
  if (!form) {
    const closedForm = { name: "Form", template: "", language: "en", noIndex: true } as Form;
    return sendFormPage(response, options, { form: closedForm, status: 404, message });
  }
  const viewer = viewerOf(visit, options.submitting.database);
  const markup = await markupFor(options, form, viewer, {
    filled: typed(received, form),
    errors: answer.errors,
  });
  await sendFormPage(response, options, { form, status: 400, message, markup });
}

function typed({ values }: ReceivedForm, form: Form): Map<string, string[]> {
  const texts = form.fields.flatMap(({ alias }) => {
    const value = Object.hasOwn(values, alias) ? values[alias] : undefined;
    const list = [value].flat().filter((text) => typeof text === "string");
    return list.length > 0 ? [[alias, list] as const] : [];
  });
  return new Map(texts);
}
