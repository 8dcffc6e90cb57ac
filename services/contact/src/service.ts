import { createSecretKey } from "node:crypto";
import { COMMAND_KEYS } from "@tidings/commands/keys";
import { partitionUpkeep } from "@tidings/jobs/partitions";
import { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { CompanyMethodService, CompanySchema } from "@tidings/proto/tidings/contact/v1/company";
import { CompanyService } from "@tidings/proto/tidings/contact/v1/company_service";
import { ConsentService } from "@tidings/proto/tidings/contact/v1/consent";
import { ContactMethodService, ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { ContactService } from "@tidings/proto/tidings/contact/v1/contact_service";
import { DeviceService } from "@tidings/proto/tidings/contact/v1/device_service";
import { FieldSchema } from "@tidings/proto/tidings/contact/v1/field";
import { CompanyFieldService, ContactFieldService } from "@tidings/proto/tidings/contact/v1/field_service";
import { GroupScoreService } from "@tidings/proto/tidings/contact/v1/group_score";
import { IdentificationService } from "@tidings/proto/tidings/contact/v1/identification";
import { NoteService } from "@tidings/proto/tidings/contact/v1/note_service";
import { SegmentMethodService, SegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import { SegmentService } from "@tidings/proto/tidings/contact/v1/segment_service";
import { TagSchema } from "@tidings/proto/tidings/contact/v1/tag";
import { TagService } from "@tidings/proto/tidings/contact/v1/tag_service";
import { UtmTagService } from "@tidings/proto/tidings/contact/v1/utm_tags";
import { implementStandard } from "@tidings/resource/implement-resource";
import { resourceSnapshots } from "@tidings/resource/snapshots";
import { startTotals } from "@tidings/resource/totals";
import { type VisibleRows, visibleRows } from "@tidings/resource/visible-rows";
import { type Implementation, implement } from "@tidings/rpc/server";
import { visibleFinder } from "@tidings/service/find-visible";
import type { Foundation, Parts } from "@tidings/service/start-service";
import { consentHandlers } from "./belonging/consent.ts";
import { deviceHandlers } from "./belonging/device.ts";
import { identificationHandlers } from "./belonging/identification.ts";
import { noteHandlers } from "./belonging/note.ts";
import { utmTagHandlers } from "./belonging/utm-tags.ts";
import { commandHandlers } from "./command/handlers.ts";
import { companyHandlers } from "./company/company.ts";
import type { ContactConfig } from "./config.ts";
import { anonymousContacts } from "./contact/anonymous.ts";
import { contactHandlers } from "./contact/contact.ts";
import { contactSnapshots } from "./contact/events.ts";
import { groupScoreHandlers } from "./contact/group-score.ts";
import { contactMethods } from "./contact/methods.ts";
import { startSearchUpkeep } from "./contact/search-upkeep.ts";
import { fieldCatalogues } from "./field/catalogue.ts";
import { fieldsOf } from "./field/field.ts";
import { upkeepOptions } from "./field/upkeep.ts";
import { contactProjections } from "./projection/keeping.ts";
import { companySnapshots } from "./record/company-events.ts";
import { references } from "./references.ts";
import { totals } from "./rows/totals.ts";
import { building } from "./segment/build/build.ts";
import { dayOptions } from "./segment/build/day.ts";
import { startReacting } from "./segment/build/react.ts";
import { definitionReader } from "./segment/definition/definitions.ts";
import { memberSnapshots } from "./segment/follow/snapshots.ts";
import { segmentHandlers } from "./segment/segment.ts";
import { tagHandlers } from "./tag/tag.ts";

/** Contacts and companies with all that belongs to them, and the segments they are in. */
export function openContactService(foundation: Foundation<ContactConfig>): Parts {
  const { config, database, outbox, bus, log } = foundation;
  const visible = [
    visibleRows(database, ContactSchema, { own: "owner_id = $2" }),
    visibleRows(database, CompanySchema),
    visibleRows(database, SegmentSchema, { own: "(is_global or created_by = $2)" }),
  ];
  const context = contextOf(foundation, visible);
  return {
    services: implementations(context, config),
    sharedWrites: [
      ContactService.method.createContact,
      ContactService.method.updateContact,
      CompanyService.method.createCompany,
      CompanyService.method.updateCompany,
    ],
    work: {
      "search upkeep": startSearchUpkeep(database, outbox, log),
      totals: startTotals(database, outbox, log, totals),
      "segment reaction": startReacting(context, bus),
    },
    jobs: [
      upkeepOptions(database, log),
      building(context),
      dayOptions(context),
      anonymousContacts(context, { days: config.ANONYMOUS_DAYS }),
      partitionUpkeep(database, log, [COMMAND_KEYS]),
    ],
    snapshots: [
      contactSnapshots(context),
      companySnapshots(context),
      memberSnapshots(database),
      ...[FieldSchema, TagSchema, SegmentSchema].map((schema) => resourceSnapshots(database, schema)),
    ],
    visible,
    ...contactProjections(context),
  };
}

function contextOf(
  { config, database, outbox, log, upstreams }: Foundation<ContactConfig>,
  visible: VisibleRows[],
) {
  const catalogues = fieldCatalogues(database);
  return {
    database,
    outbox,
    log,
    catalogues,
    references: references(database, catalogues),
    findVisible: visibleFinder({ own: visible, upstreams, dialect: config.API_DIALECT }),
    readDefinitions: definitionReader(),
    showsFiltersAsSent: config.API_DIALECT === "mautic",
    suppressionKey: createSecretKey(config.SUPPRESSION_KEY, "base64"),
  };
}

function implementations(context: ReturnType<typeof contextOf>, config: ContactConfig): Implementation[] {
  const companies = companyHandlers(context);
  const segments = segmentHandlers(context);
  return [
    implement(ContactService, contactHandlers(context)),
    implement(ContactMethodService, contactMethods(context)),
    implement(
      ContactCommandService,
      commandHandlers(context, { email: config.EMAIL_FREQUENCY, sms: config.SMS_FREQUENCY }),
    ),
    implement(GroupScoreService, groupScoreHandlers(context)),
    implement(UtmTagService, utmTagHandlers(context)),
    implement(CompanyService, companies),
    implement(CompanyMethodService, companies),
    implementStandard(ContactFieldService, fieldsOf(context, "lead")),
    implementStandard(CompanyFieldService, fieldsOf(context, "company")),
    implement(SegmentService, segments),
    implement(SegmentMethodService, segments),
    implement(TagService, tagHandlers(context)),
    implement(NoteService, noteHandlers(context)),
    implement(DeviceService, deviceHandlers(context)),
    implement(IdentificationService, identificationHandlers(context)),
    implement(ConsentService, consentHandlers(context)),
  ];
}
