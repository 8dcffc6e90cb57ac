import { generateKeyPairSync } from "node:crypto";
import { create, type DescService } from "@bufbuild/protobuf";
import { openDatabase } from "@tidings/database/database";
import { createOutbox } from "@tidings/messaging/outbox";
import { ContactMethodService } from "@tidings/proto/tidings/contact/v1/contact";
import { type Tag, TagSchema } from "@tidings/proto/tidings/contact/v1/tag";
import { TagService } from "@tidings/proto/tidings/contact/v1/tag_service";
import { TriggerService } from "@tidings/proto/tidings/webhook/v1/trigger";
import { WebhookService } from "@tidings/proto/tidings/webhook/v1/webhook_service";
import { type Actor, type ActorVerifier, actorVerifier } from "@tidings/rpc/actor";
import type { Handlers } from "@tidings/rpc/definition";
import { notFound } from "@tidings/rpc/fault";
import { implement, serve } from "@tidings/rpc/server";
import { serveHttp } from "@tidings/runtime/http-server";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { type AppOptions, createApp } from "../app.ts";
import { openBearers } from "../auth/bearer.ts";
import { openCredentials } from "../auth/credentials.ts";
import { clientIpReader } from "../client-ip.ts";
import { openClients } from "../clients.ts";
import { ensureAdministrator } from "../identity/administrator.ts";
import { openPrincipals } from "../identity/principals.ts";
import { apiRateLimits } from "../limits/api-limits.ts";
import { type ArrivalLimits, bodyArrivals } from "../limits/arrivals.ts";
import { loginThrottle } from "../limits/login-throttle.ts";
import { rateLimiter } from "../limits/rate-limit.ts";
import { loadShedding } from "../limits/shedding.ts";
import { type PublicRates, webLimits } from "../limits/web-limits.ts";
import type { TokenRates } from "../oauth/token-endpoint.ts";
import type { TokenLifetimes } from "../oauth/token-request.ts";
import { sessionCookie } from "../pages/session-cookie.ts";
import { cursorsOf } from "../rest/cursor.ts";
import { SERVICES } from "../services.ts";
import { openTransfer } from "../transfer.ts";
import type { WebOptions } from "../web.ts";
import { type TagHandlers, tagHandlers } from "./tag-handlers.ts";

export const PASSWORD = "correct horse";
export const AUTHORIZATION = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString("base64")}`;
const log = createLog("gateway", "silent");
const clientIp = clientIpReader([], log);

export interface SceneOptions extends Partial<Omit<AppOptions, "web">> {
  web?: Partial<WebOptions>;
  /** Requests a second and address on the public web; unlimited when absent. */
  publicRate?: number;
  publicRates?: PublicRates;
  handlers?: Partial<TagHandlers>;
  arrivalLimits?: ArrivalLimits;
  lifetimes?: TokenLifetimes;
  tokenRates?: TokenRates;
}

/** More than any test asks for. */
const UNLIMITED = rateLimiter({ name: "unlimited", points: 1_000_000, windowSeconds: 60, redis: undefined });

const FIXED = {
  log,
  clientIp,
  versionHeader: "Tidings-Version",
  version: "1.2.3",
  isEnabled: true,
  limits: { pageSize: 30, limitMax: 10_000, batchMax: 200, cursors: cursorsOf("test") },
  nested: "byId",
  apiOrigin: undefined,
} as const;

/** A gateway on a real port, before a real RPC server that keeps tags in memory. */
export async function startScene(options: SceneOptions = {}) {
  const { privateKey, publicKey } = newKeys();
  const tags = new Map<number, Tag>();
  const rpc = await serveTags(tags, options.handlers, publicKey);
  const addresses = Object.fromEntries(SERVICES.map((name) => [name, `127.0.0.1:${rpc.port}`]));
  const { database, outbox, principals, credentials, close } = await openIdentity();
  const clients = openClients({ addresses, actorPrivateKey: privateKey, identity: { database, outbox } });
  const shedding = loadShedding(256);
  const rates = apiRateLimits({ requestsPerHour: 0, keysPerMinute: 1_000 }, undefined);
  const {
    lifetimes = { accessSeconds: 3600, refreshSeconds: 14 * 86_400 },
    tokenRates = { client: UNLIMITED, address: UNLIMITED },
    web,
    publicRate = 0,
    publicRates = {},
    ...overrides
  } = options;
  const limits = limitsOf(publicRate, publicRates);
  const webOptions: WebOptions = { address: "127.0.0.1:1", host: undefined, limits, ...web };
  const app = createApp({
    ...FIXED,
    authentication: { credentials, bearers: openBearers(database, principals), isBasicEnabled: true },
    oauth: { database, lifetimes, rates: tokenRates, clientIp },
    pages: {
      database,
      outbox,
      principals,
      credentials,
      cookie: sessionCookie(false, 0),
      apiOrigin: undefined,
      anonymousRate: UNLIMITED,
      clientIp,
    },
    clients,
    transfer: openTransfer({ address: webOptions.address, actorPrivateKey: privateKey }),
    rates,
    shedding,
    arrivals: bodyArrivals(options.arrivalLimits),
    web: webOptions,
    ...overrides,
  });
  const server = await serveHttp({ port: 0 }, app);
  return {
    port: server.port,
    drain: server.drain,
    database,
    tags,
    addTags(count: number): void {
      for (let id = 1; id <= count; id += 1) tags.set(id, longTag(id));
    },
    async stop(): Promise<void> {
      await server.drain();
      shedding.stop();
      limits.shedding.stop();
      clients.close();
      await rpc.drain();
      await close();
    },
  };
}

function longTag(id: number): Tag {
  return create(TagSchema, { id, tag: `tag ${id}`, description: "x".repeat(300) });
}

/** The database of the gateway, with an administrator. */
async function openIdentity() {
  const testDatabase = await createTestDatabase();
  const database = openDatabase({ url: testDatabase.url("identity"), log });
  const outbox = createOutbox();
  await ensureAdministrator(database, outbox, { username: "admin", password: PASSWORD });
  const principals = openPrincipals(database);
  const credentials = await openCredentials(database, principals, loginThrottle(undefined));
  const close = async () => {
    await database.close();
    await testDatabase.drop();
  };
  return { database, outbox, principals, credentials, close };
}

function newKeys() {
  const keys = generateKeyPairSync("ed25519");
  return {
    privateKey: keys.privateKey.export({ format: "der", type: "pkcs8" }).toString("base64"),
    publicKey: keys.publicKey.export({ format: "der", type: "spki" }).toString("base64"),
  };
}

function limitsOf(ratePerSecond: number, rates: PublicRates) {
  return webLimits({ clientIp, ratePerSecond, rates, inFlightMax: 256, redis: undefined });
}

/** An RPC server of the services that the tests of the gateway call. */
function serveTags(tags: Map<number, Tag>, handlers: Partial<TagHandlers> | undefined, publicKey: string) {
  const services = [
    implement(TagService, { ...tagHandlers(tags), ...handlers }),
    implement(ContactMethodService, {
      ...unanswered(ContactMethodService),
      listContactFields: () => ({ fields: Buffer.from('{"1":{"id":1,"alias":"title"}}') }),
      changeContactPoints: ({ delta, eventName }) => {
        if (eventName === "missing") throw notFound();
        return { points: delta };
      },
    }),
    implement(WebhookService, unanswered(WebhookService)),
    implement(TriggerService, {
      listTriggers: () => ({ triggers: [{ name: "svc.a", label: "A", description: "About A" }] }),
    }),
  ];
  // One server for all services: it takes the tokens for each of the processes they belong to.
  const verifiers = new Map<string, ActorVerifier>(
    SERVICES.map((name) => [name, actorVerifier([`user+client:${publicKey}`], name)]),
  );
  return serve(services, {
    port: 0,
    log,
    verifyActor: (token) => {
      const payload = JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString());
      return verifiers.get(payload.aud)?.(token) as Actor;
    },
    inFlightMax: 64,
  });
}

function unanswered<S extends DescService>(service: S): Handlers<S> {
  const refuse = () => {
    throw new Error("not part of this test");
  };
  // The names come from the service itself; the compiler cannot follow that.
  return Object.fromEntries(
    service.methods.map(({ localName }) => [localName, refuse]),
  ) as unknown as Handlers<S>;
}
