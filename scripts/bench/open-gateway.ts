import { openDatabase } from "@tidings/database/database";
import { createOutbox } from "@tidings/messaging/outbox";
import { serveHttp } from "@tidings/runtime/http-server";
import { createLog } from "@tidings/runtime/log";
import { createApp } from "../../gateway/src/app.ts";
import { clientIpReader } from "../../gateway/src/client-ip.ts";
import { openClients } from "../../gateway/src/clients.ts";
import { openPrincipals } from "../../gateway/src/identity/principals.ts";
import { apiRateLimits } from "../../gateway/src/limits/api-limits.ts";
import { bodyArrivals } from "../../gateway/src/limits/arrivals.ts";
import { rateLimiter } from "../../gateway/src/limits/rate-limit.ts";
import { loadShedding } from "../../gateway/src/limits/shedding.ts";
import { webLimits } from "../../gateway/src/limits/web-limits.ts";
import { sessionCookie } from "../../gateway/src/pages/session-cookie.ts";
import { cursorsOf } from "../../gateway/src/rest/cursor.ts";
import { SERVICES } from "../../gateway/src/services.ts";
import { openTransfer } from "../../gateway/src/transfer.ts";

/** The gateway without authentication: every caller is the administrator. The rest is the cost of a request by itself. */
const { DATABASE_URL = "", CONTACT_ADDRESS = "", ACTOR_PRIVATE_KEY = "" } = process.env;
const ADMINISTRATOR = { kind: "user" as const, id: 1, name: "Admin User", admin: true, permissions: {} };

const log = createLog("gateway", "warn");
const database = openDatabase({ url: DATABASE_URL, log });
const identity = { database, outbox: createOutbox() };
// Contacts are all that is asked for.
const addresses = Object.fromEntries(SERVICES.map((name) => [name, CONTACT_ADDRESS]));
const clients = openClients({ addresses, actorPrivateKey: ACTOR_PRIVATE_KEY, identity });
const clientIp = clientIpReader([], log);
const rates = apiRateLimits({ requestsPerHour: 0, keysPerMinute: 1 }, undefined);
const unlimited = rateLimiter({ name: "none", points: 1_000_000, windowSeconds: 1, redis: undefined });
const credentials = { recallBasic: () => ADMINISTRATOR, verifyBasic: async () => ADMINISTRATOR };
const bearers = { recall: () => ADMINISTRATOR, verify: async () => ADMINISTRATOR };

const app = createApp({
  log,
  versionHeader: "Tidings-Version",
  version: "0.0.0",
  isEnabled: true,
  authentication: { credentials, bearers, isBasicEnabled: true },
  oauth: {
    database,
    lifetimes: { accessSeconds: 3_600, refreshSeconds: 86_400 },
    rates: { client: unlimited, address: unlimited },
    clientIp,
  },
  pages: {
    database,
    outbox: identity.outbox,
    principals: openPrincipals(database),
    credentials,
    cookie: sessionCookie(false, 0),
    apiOrigin: undefined,
    anonymousRate: unlimited,
    clientIp,
  },
  clientIp,
  clients,
  transfer: openTransfer({ address: "127.0.0.1:1", actorPrivateKey: ACTOR_PRIVATE_KEY }),
  limits: { pageSize: 30, limitMax: 10_000, batchMax: 200, cursors: cursorsOf("none") },
  nested: "byId",
  rates,
  shedding: loadShedding(512),
  arrivals: bodyArrivals(),
  apiOrigin: undefined,
  web: {
    address: "127.0.0.1:1",
    host: undefined,
    limits: webLimits({ clientIp, ratePerSecond: 0, inFlightMax: 256, redis: undefined }),
  },
});
const { port } = await serveHttp({ port: 0 }, app);
process.send?.({ port });
