import { createSecretKey } from "node:crypto";
import { connectBus } from "@tidings/bus/connect";
import { contactStream } from "@tidings/bus/streams";
import { CompanyService } from "@tidings/proto/tidings/contact/v1/company";
import { ContactService } from "@tidings/proto/tidings/contact/v1/contact";
import { DeviceService } from "@tidings/proto/tidings/contact/v1/device";
import { CompanyFieldService, ContactFieldService } from "@tidings/proto/tidings/contact/v1/field";
import { NoteService } from "@tidings/proto/tidings/contact/v1/note";
import { SegmentService } from "@tidings/proto/tidings/contact/v1/segment";
import { TagService } from "@tidings/proto/tidings/contact/v1/tag";
import { actorVerifier } from "@tidings/rpc/actor";
import { implement, serve } from "@tidings/rpc/server";
import { createLog } from "@tidings/runtime/log";
import { run } from "@tidings/runtime/run";
import { openDatabase } from "@tidings/store/database";
import { isMigrated } from "@tidings/store/migrate";
import { createOutbox } from "@tidings/store/outbox";
import { startRelay } from "@tidings/store/relay";
import { companyHandlers } from "./company/company.ts";
import { contactConfig } from "./config.ts";
import { contactHandlers } from "./contact/contact.ts";
import { deviceHandlers } from "./device.ts";
import { fieldCatalogues } from "./field/catalogue.ts";
import { fieldHandlers } from "./field/field.ts";
import { startFieldUpkeep } from "./field/upkeep.ts";
import { migrations } from "./migrations.ts";
import { noteHandlers } from "./note.ts";
import { startProjecting } from "./projection/start.ts";
import { startBuilding } from "./segment/build.ts";
import { definitionReader } from "./segment/definitions.ts";
import { startReacting } from "./segment/react.ts";
import { segmentHandlers } from "./segment/segment.ts";
import { tagHandlers } from "./tag.ts";

const config = contactConfig(process.env);
const log = createLog("contact", config.LOG_LEVEL);

const options = {
  log,
  host: config.INTERNAL_ADDRESS,
  opsPort: config.OPS_PORT,
  shutdownDelayMs: config.SHUTDOWN_DELAY_MS,
};
await run(options, async ({ onStop }) => {
  const database = openDatabase({
    url: config.DATABASE_URL,
    connectionsMax: config.DATABASE_CONNECTIONS,
    log,
  });
  onStop("database", database.close);
  const bus = connectBus({ url: config.NATS_URL, name: "contact", replicas: config.NATS_REPLICAS, log });
  onStop("bus", bus.close);
  const outbox = createOutbox();
  const relay = startRelay({
    database,
    databaseUrl: config.DATABASE_URL,
    outbox,
    bus,
    stream: contactStream,
    log,
  });
  onStop("relay", relay.stop);

  const context = {
    database,
    outbox,
    log,
    catalogues: fieldCatalogues(database),
    readDefinitions: definitionReader(),
    suppressionKey: createSecretKey(config.SUPPRESSION_KEY, "base64"),
  };
  const upkeep = startFieldUpkeep(database, log);
  onStop("field upkeep", upkeep.stop);
  const building = startBuilding(context);
  onStop("segment builds", building.stop);
  const reacting = startReacting(context, bus);
  onStop("segment reaction", reacting.stop);
  const projecting = startProjecting(context, bus);
  onStop("projections", projecting.stop);
  const services = [
    implement(ContactService, contactHandlers(context)),
    implement(CompanyService, companyHandlers(context)),
    implement(ContactFieldService, fieldHandlers(context, "lead")),
    implement(CompanyFieldService, fieldHandlers(context, "company")),
    implement(SegmentService, segmentHandlers(context)),
    implement(TagService, tagHandlers(database, outbox)),
    implement(NoteService, noteHandlers(context)),
    implement(DeviceService, deviceHandlers(context)),
  ];
  const server = await serve(services, {
    port: config.GRPC_PORT,
    host: config.INTERNAL_ADDRESS,
    log,
    verifyActor: actorVerifier(config.ACTOR_PUBLIC_KEYS, "contact"),
    inFlightMax: 1_024,
  });
  onStop("rpc server", server.drain);

  return {
    ports: { grpc: server.port },
    isReady: async () => (await database.ping()) && (await isMigrated(database, migrations)),
  };
});
