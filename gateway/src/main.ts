import { busOptions, connectBus } from "@tidings/bus/connect";
import { streamOf } from "@tidings/bus/streams";
import { startForgettingAnswers } from "@tidings/commands/answer-once";
import { openDatabase } from "@tidings/database/database";
import { isMigrated } from "@tidings/database/migrate";
import { untilMigrated } from "@tidings/database/until-migrated";
import { createOutbox } from "@tidings/messaging/outbox";
import { startRelay } from "@tidings/messaging/relay";
import { implementSnapshots } from "@tidings/resource/snapshots";
import { implementVisible } from "@tidings/resource/visible-rows";
import { actorVerifier } from "@tidings/rpc/actor";
import { serve } from "@tidings/rpc/server";
import { serveHttp } from "@tidings/runtime/http-server";
import { createLog } from "@tidings/runtime/log";
import { run } from "@tidings/runtime/run";
import { openTls, type Tls } from "@tidings/runtime/tls";
import packageJson from "../package.json" with { type: "json" };
import { createApp } from "./app.ts";
import { openBearers } from "./auth/bearer.ts";
import { openCredentials } from "./auth/credentials.ts";
import { clientIpReader } from "./client-ip.ts";
import { openClients } from "./clients.ts";
import { gatewayConfig } from "./config.ts";
import { ensureAdministrator } from "./identity/administrator.ts";
import { openPrincipals } from "./identity/principals.ts";
import { identitySnapshots, visibleUsers } from "./identity/snapshots.ts";
import { apiRateLimits } from "./limits/api-limits.ts";
import { bodyArrivals } from "./limits/arrivals.ts";
import { loginThrottle } from "./limits/login-throttle.ts";
import { connectRedis } from "./limits/rate-limit.ts";
import { loadShedding } from "./limits/shedding.ts";
import { webLimits } from "./limits/web-limits.ts";
import { migrations } from "./migrations.ts";
import { startPurging } from "./oauth/purge.ts";
import { tokenRates } from "./oauth/token-endpoint.ts";
import { sessionCookie } from "./pages/session-cookie.ts";
import { cursorsOf } from "./rest/cursor.ts";
import { addressesOf } from "./services.ts";
import { openTransfer } from "./transfer.ts";

/** The header with the version, by the dialect. Clients of the other product compare its value with their own version. */
const VERSIONS = {
  tidings: { header: "Tidings-Version", value: packageJson.version },
  mautic: { header: "Mautic-Version", value: "7.0.0" },
};

/** Few ask here, and a page at a time. */
const RPC_IN_FLIGHT_MAX = 64;

const config = gatewayConfig(process.env);
const log = createLog("gateway", config.LOG_LEVEL);

const options = {
  name: "gateway",
  log,
  host: config.INTERNAL_ADDRESS,
  opsPort: config.OPS_PORT,
  shutdownDelayMs: config.SHUTDOWN_DELAY_MS,
  traceStatementsMs: config.TRACE_STATEMENTS_MS,
};
await run(options, async ({ onStop, isStopping }) => {
  const tls = openTls(config, log);
  const stores = await openStores(onStop);
  const { database, outbox } = stores;
  if (config.ADMIN_PASSWORD)
    await ensureAdministrator(database, outbox, {
      username: config.ADMIN_USERNAME,
      password: config.ADMIN_PASSWORD,
    });
  onStop("kept answers", startForgettingAnswers(database, log).stop);
  const purging = startPurging(database, log);
  onStop("purge", purging.stop);
  const app = createApp({
    ...(await signingIn(stores)),
    ...openUpstreams(onStop, tls, stores),
    ...apiSettings(),
  });
  const shown = [implementSnapshots(identitySnapshots(database)), implementVisible([visibleUsers(database)])];
  const rpc = await serve(shown, {
    port: config.GRPC_PORT,
    host: config.INTERNAL_ADDRESS,
    tls,
    log,
    verifyActor: actorVerifier(config.ACTOR_PUBLIC_KEYS, "identity"),
    inFlightMax: RPC_IN_FLIGHT_MAX,
  });
  onStop("rpc server", rpc.drain);
  const server = await serveHttp({ port: config.PORT, isLeaving: isStopping }, app);
  onStop("http server", server.drain);
  return {
    ports: { http: server.port, grpc: rpc.port },
    isReady: async () => (await database.ping()) && (await isMigrated(database, migrations)),
  };
});

type OnStop = Parameters<Parameters<typeof run>[1]>[0]["onStop"];
type Stores = Awaited<ReturnType<typeof openStores>>;

/** The database, once it is migrated, Redis where there is one, and the bus with the relay of this process' events. */
async function openStores(onStop: OnStop) {
  const database = openDatabase({ url: config.DATABASE_URL, log });
  onStop("database", database.close);
  await untilMigrated(database, migrations, log);
  const redis = config.REDIS_URL ? await connectRedis(config.REDIS_URL, log) : undefined;
  if (redis) onStop("redis", () => redis.destroy());
  const bus = connectBus({ ...busOptions(config), name: "gateway", log });
  onStop("bus", bus.close);
  const outbox = createOutbox();
  const databaseUrl = config.DATABASE_URL;
  const relay = startRelay({ database, databaseUrl, outbox, bus, stream: streamOf("identity"), log });
  onStop("relay", relay.stop);
  const clientIp = clientIpReader(config.TRUSTED_PROXIES, log);
  const rates = apiRateLimits(
    { requestsPerHour: config.API_RATE_LIMIT, keysPerMinute: config.IDEMPOTENCY_KEYS_PER_MINUTE },
    redis,
  );
  return { database, redis, outbox, clientIp, rates };
}

/** Credentials, tokens and the pages on which people sign in. */
async function signingIn({ database, redis, outbox, clientIp, rates }: Stores) {
  const principals = openPrincipals(database);
  const credentials = await openCredentials(database, principals, loginThrottle(redis));
  const apiUrl = config.API_URL ? new URL(config.API_URL) : undefined;
  return {
    authentication: {
      credentials,
      bearers: openBearers(database, principals),
      isBasicEnabled: config.API_ENABLE_BASIC_AUTH,
    },
    oauth: {
      database,
      lifetimes: {
        accessSeconds: config.API_OAUTH2_ACCESS_TOKEN_LIFETIME * 60,
        refreshSeconds: config.API_OAUTH2_REFRESH_TOKEN_LIFETIME * 86_400,
      },
      rates: tokenRates(redis, config.API_OAUTH2_TOKENS_PER_MINUTE),
      clientIp,
    },
    pages: {
      database,
      outbox,
      principals,
      credentials,
      cookie: sessionCookie(apiUrl?.protocol === "https:", config.PORT),
      apiOrigin: apiUrl?.origin,
      anonymousRate: rates.anonymous,
      clientIp,
    },
    apiOrigin: apiUrl?.origin,
    clientIp,
    rates,
  };
}

/** The services behind this process, and what may be on its way to them at once. */
function openUpstreams(onStop: OnStop, tls: Tls | undefined, { database, outbox, redis, clientIp }: Stores) {
  const { ACTOR_PRIVATE_KEY: actorPrivateKey, CONTENT_WEB_ADDRESS: address } = config;
  const identity = { database, outbox };
  const clients = openClients({ addresses: addressesOf(config), tls, actorPrivateKey, identity });
  onStop("clients", clients.close);
  const transfer = openTransfer({ address, tls, actorPrivateKey });
  onStop("transfer", transfer.close);
  const shedding = loadShedding(config.REQUESTS_IN_FLIGHT);
  onStop("shedding", shedding.stop);
  const limits = webLimits({
    clientIp,
    ratePerSecond: config.PUBLIC_RATE_LIMIT,
    rates: {
      tracking: config.TRACKING_RATE,
      form: config.FORM_RATE,
      ofForm: config.FORM_RATE_OF_ALL,
      download: config.DOWNLOAD_RATE,
      preview: config.PREVIEW_RATE,
    },
    inFlightMax: config.PUBLIC_REQUESTS_IN_FLIGHT,
    redis,
  });
  onStop("public web", limits.shedding.stop);
  return {
    clients,
    transfer,
    shedding,
    arrivals: bodyArrivals(),
    web: { address, tls, host: publicHost(config), limits },
  };
}

/** The host that is the public web's alone, where it has one. */
function publicHost({ PUBLIC_URL, API_URL }: typeof config): string | undefined {
  const [host, apiHost] = [PUBLIC_URL, API_URL].map((url) => url && new URL(url).host);
  return host === apiHost ? undefined : host;
}

function apiSettings() {
  const version = VERSIONS[config.API_DIALECT];
  return {
    log,
    versionHeader: config.VERSION_HEADER ?? version.header,
    version: config.VERSION_HEADER_VALUE ?? version.value,
    nested: config.API_DIALECT === "mautic" ? ("array" as const) : ("byId" as const),
    isEnabled: config.API_ENABLED,
    limits: {
      pageSize: config.API_PAGE_SIZE,
      limitMax: config.API_MAX_LIMIT,
      batchMax: config.API_BATCH_LIMIT,
      // All gateways have this key: a cursor of one is good at the others.
      cursors: cursorsOf(config.ACTOR_PRIVATE_KEY),
    },
  };
}
