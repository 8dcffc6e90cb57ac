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
import { denied, invalid, notFound } from "@tidings/rpc/fault";
import { faultToStatus } from "@tidings/rpc/fault-status";
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

export const PASSWORD = "correct horse";
export const AUTHORIZATION = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString("base64")}`;
const log = createLog("gateway", "silent");

export type TagHandlers = Handlers<typeof TagService>;

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

/** A gateway on a real port, before a real RPC server that keeps tags in memory. */
export async function startScene(options: SceneOptions = {}) {
  const keys = generateKeyPairSync("ed25519");
  const privateKey = keys.privateKey.export({ format: "der", type: "pkcs8" }).toString("base64");
  const publicKey = keys.publicKey.export({ format: "der", type: "spki" }).toString("base64");
  const tags = new Map<number, Tag>();
  const services = [
    implement(TagService, { ...tagHandlers(tags), ...options.handlers }),
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
  const rpc = await serve(services, {
    port: 0,
    log,
    verifyActor: (token) => {
      const payload = JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString());
      return verifiers.get(payload.aud)?.(token) as Actor;
    },
    inFlightMax: 64,
  });
  const address = `127.0.0.1:${rpc.port}`;
  const testDatabase = await createTestDatabase();
  const database = openDatabase({ url: testDatabase.url("identity"), log });
  const outbox = createOutbox();
  const addresses = Object.fromEntries(SERVICES.map((name) => [name, address]));
  const clients = openClients({ addresses, actorPrivateKey: privateKey, identity: { database, outbox } });
  await ensureAdministrator(database, outbox, { username: "admin", password: PASSWORD });
  const shedding = loadShedding(256);
  const principals = openPrincipals(database);
  const credentials = await openCredentials(database, principals, loginThrottle(undefined));
  const clientIp = clientIpReader([], log);
  const rates = apiRateLimits({ requestsPerHour: 0, keysPerMinute: 1_000 }, undefined);
  const {
    lifetimes = { accessSeconds: 3600, refreshSeconds: 14 * 86_400 },
    tokenRates = { client: UNLIMITED, address: UNLIMITED },
    web,
    publicRate = 0,
    publicRates = {},
    ...overrides
  } = options;
  const arrivals = bodyArrivals(options.arrivalLimits);
  const limits = webLimits({
    clientIp,
    ratePerSecond: publicRate,
    rates: publicRates,
    inFlightMax: 256,
    redis: undefined,
  });
  const webOptions: WebOptions = { address: "127.0.0.1:1", host: undefined, limits, ...web };
  const app = createApp({
    log,
    versionHeader: "Tidings-Version",
    version: "1.2.3",
    isEnabled: true,
    authentication: {
      credentials,
      bearers: openBearers(database, principals),
      isBasicEnabled: true,
    },
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
    clientIp,
    clients,
    transfer: openTransfer({ address: webOptions.address, actorPrivateKey: privateKey }),
    limits: { pageSize: 30, limitMax: 10_000, batchMax: 200, cursors: cursorsOf("test") },
    nested: "byId",
    rates,
    shedding,
    arrivals,
    apiOrigin: undefined,
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
      for (let id = 1; id <= count; id += 1)
        tags.set(id, create(TagSchema, { id, tag: `tag ${id}`, description: "x".repeat(300) }));
    },
    async stop(): Promise<void> {
      await server.drain();
      shedding.stop();
      limits.shedding.stop();
      clients.close();
      await rpc.drain();
      await database.close();
      await testDatabase.drop();
    },
  };
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

/** `bad` is refused as a text; tag 13 may not be deleted. */
function tagHandlers(tags: Map<number, Tag>): TagHandlers {
  const check = (tag: Tag | undefined) => {
    if (!tag?.tag || tag.tag === "bad") throw invalid([{ field: "tag", message: "A value is required." }]);
  };
  const find = (id: number): Tag => tags.get(id) ?? fail();
  const fail = (): never => {
    throw notFound();
  };
  const add = (tag: Tag | undefined) => {
    check(tag);
    const known = [...tags.values()].find((other) => other.tag === tag?.tag);
    if (known) return { tag: known, created: false };
    const id = Math.max(0, ...tags.keys()) + 1;
    const added = create(TagSchema, { id, tag: tag?.tag ?? "" });
    if (tag?.description !== undefined) added.description = tag.description;
    tags.set(id, added);
    return { tag: added, created: true };
  };
  const change = (id: number, tag: Tag | undefined, allowMissing: boolean) => {
    if (!tags.has(id) && allowMissing) return add(tag);
    const before = find(id);
    if (tag?.tag === "bad") check(tag);
    const changed = create(TagSchema, { ...before, ...(tag?.tag && { tag: tag.tag }) });
    tags.set(id, changed);
    return { tag: changed, created: false };
  };
  const remove = (id: number): Tag => {
    const before = find(id);
    if (id === 13) throw denied();
    tags.delete(id);
    return before;
  };
  const each = <T>(items: T[], work: (item: T) => { tag: Tag; created: boolean }) => {
    const outcomes = items.map((item) => {
      try {
        const { tag, created } = work(item);
        return { tag, status: { created } };
      } catch (error) {
        return { tag: create(TagSchema), status: { error: faultToStatus(error as never) } };
      }
    });
    return { tags: outcomes.map(({ tag }) => tag), statuses: outcomes.map(({ status }) => status) };
  };
  return {
    getTag: ({ id }) => find(id),
    listTags: ({ query }) => {
      if (query && query.ids.length > 0) return { tags: query.ids.flatMap((id) => tags.get(id) ?? []) };
      const all = [...tags.values()].reverse();
      const page = all.slice(query?.skip, (query?.skip ?? 0) + (query?.pageSize ?? 0));
      const totalSize = query?.skipTotal ? 0 : all.length;
      return query?.idsOnly ? { ids: page.map(({ id }) => id), totalSize } : { tags: page, totalSize };
    },
    createTag: ({ tag }) => add(tag),
    updateTag: ({ id, tag, allowMissing }) => change(id, tag, allowMissing),
    deleteTag: ({ id }) => remove(id),
    batchCreateTags: ({ requests }) => each(requests, ({ tag }) => add(tag)),
    batchUpdateTags: ({ requests }) =>
      each(requests, ({ id, tag, allowMissing }) => change(id, tag, allowMissing)),
    batchDeleteTags: ({ ids }) => each(ids, (id) => ({ tag: remove(id), created: false })),
  };
}
