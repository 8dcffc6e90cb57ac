import { isIP } from "node:net";
import {
  addressVariables,
  apiDialect,
  busConfig,
  flag,
  list,
  port,
  processConfig,
  readConfig,
} from "@tidings/runtime/config";
import { z } from "zod";
import { rateSetting } from "./limits/rate-setting.ts";
import { SERVICES } from "./services.ts";

const count = z.coerce.number().int().min(1);

const addressRanges = list.refine((ranges) => ranges.every(isAddressRange), "must be a list of CIDR ranges");

function isAddressRange(range: string): boolean {
  const [address = "", bits = "0", ...rest] = range.split("/");
  const bitsMax = isIP(address) === 6 ? 128 : 32;
  return isIP(address) !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax && rest.length === 0;
}

/** Every variable the gateway reads. */
export const gatewayVariables = {
  ...processConfig,
  PORT: port.default(8080),
  DATABASE_URL: z.url(),
  ...busConfig,
  ...addressVariables(SERVICES),
  /** Users, roles and API credentials are listed here for the services that keep something of them. */
  GRPC_PORT: port.default(50051),
  /** As for the services: who may ask for them. */
  ACTOR_PUBLIC_KEYS: list,
  /** Limits are shared by the gateways through Redis where it is given, else kept by each. */
  REDIS_URL: z.url().optional(),
  /** Base64 DER (PKCS 8) Ed25519 key. */
  ACTOR_PRIVATE_KEY: z.string().min(1),

  ADMIN_USERNAME: z.string().min(1).max(191).default("admin"),
  /** Sets the administrator's password at the start; without it no user is touched. */
  ADMIN_PASSWORD: z.string().min(8).max(256).optional(),

  API_ENABLED: flag.default(true),
  API_ENABLE_BASIC_AUTH: flag.default(false),
  /** Minutes that an access token lives. */
  API_OAUTH2_ACCESS_TOKEN_LIFETIME: count.max(24 * 60).default(60),
  /** Days that a refresh token lives; each use gives a new one. */
  API_OAUTH2_REFRESH_TOKEN_LIFETIME: count.max(90).default(14),
  /** Where browsers find the API and its pages. Under https its cookie is bound to the host. */
  API_URL: z.url().optional(),
  /** Where people find what is published: a host on which nothing of the API is. Absent, or the API's own, its paths are there beside it. */
  PUBLIC_URL: z.url().optional(),
  /** host:port where the content service serves it. */
  CONTENT_WEB_ADDRESS: z.string().min(1),
  API_PAGE_SIZE: count.default(30),
  API_MAX_LIMIT: count.default(10_000),
  API_BATCH_LIMIT: count.default(200),
  /** Requests an hour and principal; 0 is no limit. */
  API_RATE_LIMIT: z.coerce.number().int().min(0).default(0),
  /** Idempotency keys a minute and principal. The answer to each is kept for a day. */
  IDEMPOTENCY_KEYS_PER_MINUTE: count.default(6_000),
  /** Requests worked on at once; above it reads, and at twice as many writes, are refused. */
  REQUESTS_IN_FLIGHT: count.default(512),
  /** The same of the public web, whose visitors take nothing from the API's share. */
  PUBLIC_REQUESTS_IN_FLIGHT: count.default(256),
  /** Requests a second that an address may send to the public web, twice as many at once; 0 is no limit. */
  PUBLIC_RATE_LIMIT: z.coerce.number().int().min(0).default(100),
  /** Hits of one address: `30/s burst 60`; `0` is no limit, here and below. */
  TRACKING_RATE: rateSetting.prefault("30/s burst 60"),
  /** Submissions of one form by one address, and by all of them. */
  FORM_RATE: rateSetting.prefault("10/min"),
  FORM_RATE_OF_ALL: rateSetting.prefault("600/min"),
  /** Downloads of one address. */
  DOWNLOAD_RATE: rateSetting.prefault("10/s"),
  /** Previews of one address. */
  PREVIEW_RATE: rateSetting.prefault("10/min"),
  API_DIALECT: apiDialect,
  /** The response header with the version; by the dialect when absent. */
  VERSION_HEADER: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]*$/)
    .optional(),
  /** The value of that header, which clients may compare; by the dialect when absent. */
  VERSION_HEADER_VALUE: z
    .string()
    .regex(/^[!-~]{1,50}$/)
    .optional(),
  /** Tokens a minute that one client may ask for. */
  API_OAUTH2_TOKENS_PER_MINUTE: count.default(120),
  /** CIDR ranges of the proxies whose X-Forwarded-For is believed. */
  TRUSTED_PROXIES: addressRanges.default([]),
};

export function gatewayConfig(env: NodeJS.ProcessEnv) {
  return readConfig(gatewayVariables, env);
}
