import { join } from "node:path";
import { contactFateJobs, contactFates } from "@tidings/projection/contact-fate-jobs";
import { PageHitsSchema } from "@tidings/proto/tidings/content/v1/events";
import { TrackedSiteService } from "@tidings/proto/tidings/content/v1/tracked_site";
import { implement } from "@tidings/rpc/server";
import type { Foundation, Parts } from "@tidings/service/start-service";
import type { Router } from "express";
import type { ContentConfig } from "../config.ts";
import { SETS_OF_CONTACTS, TABLES_OF_CONTACTS } from "../contact-tables.ts";
import { hitCompleter } from "./complete-hit.ts";
import { type ContactIds, contactIds, contactIdUpkeep } from "./contact-ids.ts";
import { listedFacts } from "./fact-kind.ts";
import { type FieldAliases, fieldAliases } from "./field-aliases.ts";
import { identification } from "./identify.ts";
import { type KnownContacts, knownContacts } from "./known-contact.ts";
import { openPlaces } from "./places.ts";
import { type MayFollow, readerConsent } from "./reader-consent.ts";
import {
  eventOfStored,
  type HitsRecording,
  hitRecorder,
  leavingRecorder,
  type RecordHit,
  type See,
  visitorSeer,
} from "./record-hits.ts";
import { redirectFinder, redirectRoutes } from "./redirects.ts";
import { scriptRoutes } from "./script.ts";
import { openSpill, spillingRecorder } from "./spill.ts";
import { trackedSiteHandlers, trackedSites } from "./tracked-sites.ts";
import { trackingRoutes } from "./tracking.ts";
import { type VisitSettings, visitSettings } from "./visit-settings.ts";
import { HIT_COLUMNS } from "./visit-tables.ts";
import { withdrawal } from "./withdraw.ts";

type Opened = Required<Pick<Parts, "services" | "jobs" | "facts" | "projections" | "work">> & {
  routes: Router[];
  settings: VisitSettings;
  ids: ContactIds;
  recordHit: RecordHit;
  see: See;
  contacts: KnownContacts;
  mayFollow: MayFollow;
  fields: FieldAliases;
};

/** Visitors of the public web, and their hits. */
export async function openVisits(
  { config, database, outbox, log, upstreams }: Foundation<ContentConfig>,
  holdHits: HitsRecording["holdHits"],
): Promise<Opened> {
  const places = await openPlaces(config.GEOIP_FILE, log);
  const settings = visitSettings(config, { placeOf: places.placeOf, now: database.now });
  const ids = contactIds(database, upstreams);
  const visits = { database, outbox, ids, holdHits };
  const folder = config.HITS_DIR || join(config.FILES_DIR, "hits");
  const spill = await openSpill({ ...visits, log, folder, bytesMax: config.HITS_SPILL_BYTES_MAX });
  const recordHit = spillingRecorder(hitRecorder(visits), spill);
  const sites = trackedSites(database, log);
  const contacts = knownContacts(database, upstreams);
  const mayFollow = readerConsent(contacts, settings);
  const see = visitorSeer(visits);
  const fields = fieldAliases(database);
  return {
    ...{ settings, ids, recordHit, see, contacts, mayFollow, fields },
    routes: [
      scriptRoutes(settings),
      trackingRoutes({
        ...{ database, log, settings, recordHit, see, fields, sites },
        completeHit: hitCompleter(visits),
        leave: leavingRecorder(visits),
        withdraw: withdrawal(visits, settings),
      }),
      redirectRoutes({
        ...{ log, settings, mayFollow, recordHit },
        find: redirectFinder(database),
        valuesOf: contacts.fieldsOf,
      }),
    ],
    jobs: [
      contactIdUpkeep(database, log, upstreams),
      identification(database, log, upstreams),
      contactFateJobs(database, log, TABLES_OF_CONTACTS, SETS_OF_CONTACTS),
    ],
    facts: [
      listedFacts(database, {
        schema: PageHitsSchema,
        table: "page_hits",
        columns: HIT_COLUMNS,
        messageOf: (rows) => ({ hits: rows.map(eventOfStored) }),
      }),
    ],
    projections: [contactFates],
    services: [implement(TrackedSiteService, trackedSiteHandlers(database))],
    work: {
      "tracked sites": { stop: sites.stop },
      "spilled hits": { stop: spill.stop },
      "places of addresses": { stop: places.stop },
    },
  };
}
