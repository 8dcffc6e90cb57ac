import { createSecretKey } from "node:crypto";
import { CompanyService } from "@tidings/proto/tidings/contact/v1/company";
import { ContactService } from "@tidings/proto/tidings/contact/v1/contact";
import { DeviceService } from "@tidings/proto/tidings/contact/v1/device";
import { CompanyFieldService, ContactFieldService } from "@tidings/proto/tidings/contact/v1/field";
import { NoteService } from "@tidings/proto/tidings/contact/v1/note";
import { SegmentService } from "@tidings/proto/tidings/contact/v1/segment";
import { TagService } from "@tidings/proto/tidings/contact/v1/tag";
import { implement } from "@tidings/rpc/server";
import type { Foundation, Parts } from "@tidings/service/start-service";
import { companyHandlers } from "./company/company.ts";
import type { ContactConfig } from "./config.ts";
import { contactHandlers } from "./contact/contact.ts";
import { deviceHandlers } from "./device.ts";
import { fieldCatalogues } from "./field/catalogue.ts";
import { fieldHandlers } from "./field/field.ts";
import { startFieldUpkeep } from "./field/upkeep.ts";
import { noteHandlers } from "./note.ts";
import { startProjecting } from "./projection/start.ts";
import { startBuilding } from "./segment/build.ts";
import { definitionReader } from "./segment/definitions.ts";
import { startReacting } from "./segment/react.ts";
import { segmentHandlers } from "./segment/segment.ts";
import { tagHandlers } from "./tag.ts";

/** Contacts and companies with all that belongs to them, and the segments they are in. */
export function openContactService({ config, database, outbox, bus, log }: Foundation<ContactConfig>): Parts {
  const context = {
    database,
    outbox,
    log,
    catalogues: fieldCatalogues(database),
    readDefinitions: definitionReader(),
    suppressionKey: createSecretKey(config.SUPPRESSION_KEY, "base64"),
  };
  return {
    services: [
      implement(ContactService, contactHandlers(context)),
      implement(CompanyService, companyHandlers(context)),
      implement(ContactFieldService, fieldHandlers(context, "lead")),
      implement(CompanyFieldService, fieldHandlers(context, "company")),
      implement(SegmentService, segmentHandlers(context)),
      implement(TagService, tagHandlers(database, outbox)),
      implement(NoteService, noteHandlers(context)),
      implement(DeviceService, deviceHandlers(context)),
    ],
    work: {
      "field upkeep": startFieldUpkeep(database, log),
      "segment builds": startBuilding(context),
      "segment reaction": startReacting(context, bus),
      projections: startProjecting(context, bus),
    },
  };
}
