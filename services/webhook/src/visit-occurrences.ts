import { fromBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import {
  type FormSubmitted,
  FormSubmittedSchema,
  type PageHit,
  PageHitsSchema,
} from "@tidings/proto/tidings/content/v1/events";
import type { Occurrence } from "./occurrence.ts";
import { ipMember, isoTimeOrNull, jsonMember } from "./record-json.ts";

/** One event carries many hits; receivers get one delivery for each, under the id of the hit. */
export function hitOccurrences(event: Event): Occurrence[] {
  const { hits } = fromBinary(PageHitsSchema, event.payload);
  return hits.filter(isNotified).map((hit) => ({
    trigger: "page_on_hit" as const,
    id: hit.id,
    event,
    lead: { of: "hit", contactId: hit.contactId },
    members: { hit: hitMember(hit) },
  }));
}

/** Later versions of a hit only say when the visitor left. Machines and unknown visitors notify no webhook. */
function isNotified({ version, contactId, verdict }: PageHit): boolean {
  return version === 1 && contactId !== 0 && verdict !== "machine";
}

/** The members of a hit (engines.md 7.3) without the lead. */
function hitMember(hit: PageHit) {
  return {
    id: hit.id,
    dateHit: isoTimeOrNull(hit.dateHit),
    dateLeft: isoTimeOrNull(hit.dateLeft),
    page: pageMember(hit),
    redirect: idMember(hit.redirectId),
    email: idMember(hit.emailId),
    ipAddress: ipMember(hit.ip),
    country: hit.country || null,
    region: hit.region || null,
    city: hit.city || null,
    isp: hit.isp || null,
    organization: hit.organization || null,
    code: hit.code,
    referer: hit.referer || null,
    url: hit.url || null,
    urlTitle: hit.urlTitle || null,
    userAgent: hit.userAgent || null,
    remoteHost: hit.remoteHost || null,
    pageLanguage: hit.pageLanguage || null,
    browserLanguages: hit.browserLanguages,
    trackingId: hit.deviceId || null,
    source: hit.source || null,
    sourceId: hit.sourceId ?? null,
    query: jsonMember(hit.query) ?? {},
    // Devices are the contact service's: no hit names one.
    device: null,
  };
}

function pageMember({ pageId, pageTitle, pageAlias, pageCategory }: PageHit) {
  if (pageId === undefined) return null;
  return {
    id: pageId,
    title: pageTitle || null,
    alias: pageAlias || null,
    category: jsonMember(pageCategory),
  };
}

/** A submission notifies webhooks even when its sender is unknown. Owners who may not view its form receive nothing. */
export function submissionOccurrences(event: Event): Occurrence[] {
  const submitted = fromBinary(FormSubmittedSchema, event.payload);
  return [
    {
      trigger: "form_on_submit",
      id: event.id,
      event,
      lead: { of: "submission", contactId: submitted.contactId },
      form: { createdBy: submitted.formCreatedBy },
      members: { submission: submissionMember(submitted, event.aggregateId) },
    },
  ];
}

/** The members of a submission in the API, without the lead. */
function submissionMember(submitted: FormSubmitted, id: number) {
  const { formId, formName, formAlias, formCategory, pageId } = submitted;
  return {
    id,
    ipAddress: ipMember(submitted.ip),
    form: { id: formId, name: formName, alias: formAlias, category: jsonMember(formCategory) },
    trackingId: submitted.trackingId || null,
    dateSubmitted: isoTimeOrNull(submitted.dateSubmitted),
    referer: submitted.referer || null,
    page: pageId === undefined ? null : String(pageId),
    results: jsonMember(submitted.results) ?? {},
    files: jsonMember(submitted.files) ?? {},
  };
}

function idMember(id: number | undefined) {
  return id === undefined ? null : { id };
}
