import { connectBus } from "@tidings/bus/connect";
import { contactStream } from "@tidings/bus/streams";
import { ContactService } from "@tidings/proto/tidings/contact/v1/contact";
import { TagService } from "@tidings/proto/tidings/contact/v1/tag";
import { actorVerifier } from "@tidings/rpc/actor";
import { implement, serve } from "@tidings/rpc/server";
import { createLog } from "@tidings/runtime/log";
import { run } from "@tidings/runtime/run";
import { openDatabase } from "@tidings/store/database";
import { isMigrated } from "@tidings/store/migrate";
import { createOutbox } from "@tidings/store/outbox";
import { startRelay } from "@tidings/store/relay";
import { contactConfig } from "./config.ts";
import { contactHandlers } from "./contact/contact.ts";
import { contactWriter } from "./contact/contact-json.ts";
import { loadFieldCatalogue } from "./contact/field.ts";
import { migrations } from "./migrations.ts";
import { tagHandlers } from "./tag.ts";

const config = contactConfig(process.env);
const log = createLog("contact", config.LOG_LEVEL);

const options = { log, opsPort: config.OPS_PORT, shutdownDelayMs: config.SHUTDOWN_DELAY_MS };
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

  const catalogue = await loadFieldCatalogue(database);
  const context = { database, outbox, catalogue, writer: contactWriter(catalogue) };
  const services = [
    implement(ContactService, contactHandlers(context)),
    implement(TagService, tagHandlers(database, outbox)),
  ];
  const server = await serve(services, {
    port: config.GRPC_PORT,
    log,
    verifyActor: actorVerifier(config.ACTOR_PUBLIC_KEYS),
    inFlightMax: 1_024,
  });
  onStop("rpc server", server.drain);

  return {
    ports: { grpc: server.port },
    isReady: async () => (await database.ping()) && (await isMigrated(database, migrations)),
  };
});
