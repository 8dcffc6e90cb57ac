import type { OWNERS } from "@tidings/proto/tidings/owners";
import { z } from "zod";

/** A TCP port; 0 lets the system choose. */
export const port = z.coerce.number().int().min(0).max(65535);

/** A switch: `true`, `1`, `yes`, `on`, or their opposites. */
export const flag = z.stringbool();

/** A comma-separated list without empty entries. */
export const list = z.string().transform((text) =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== ""),
);

/** Variables of every process. */
export const processConfig = {
  LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "silent"]).default("info"),
  OPS_PORT: port.default(9090),
  /** The address on which other processes and operators find this one: all of the machine's unless one is set. */
  INTERNAL_ADDRESS: z.union([z.ipv4(), z.ipv6()]).default("0.0.0.0"),
  /** PEM files of the connections between processes, all three or none: certificate, its key, and whose certificates count. */
  TLS_CERT_FILE: z.string().optional(),
  TLS_KEY_FILE: z.string().optional(),
  TLS_CA_FILE: z.string().optional(),
  /** How long a process goes on serving after the signal to stop, not ready, until nobody sends it requests any more. */
  SHUTDOWN_DELAY_MS: z.coerce.number().int().min(0).max(60_000).default(5_000),
  /** A statement of a traced request that takes so many milliseconds has a span of its own; 0: each one. */
  TRACE_STATEMENTS_MS: z.coerce.number().int().min(0).default(100),
};

const count = z.coerce.number().int().min(1);

/** Where the events go. */
export const busConfig = {
  /** `nats://user:password@host:4222` */
  NATS_URL: z.string().min(1),
  /** A `.creds` file in place of user and password. */
  NATS_CREDENTIALS_FILE: z.string().optional(),
  /** PEM: NATS is spoken to by TLS, and its certificate has to be one of these authorities. */
  NATS_CA_FILE: z.string().optional(),
  /** Copies the bus keeps of each stream. */
  NATS_REPLICAS: count.max(5).default(1),
};

/** Variables of every service behind the gateway. */
export const serviceConfig = {
  ...processConfig,
  DATABASE_URL: z.url(),
  DATABASE_CONNECTIONS: count.max(500).default(20),
  ...busConfig,
  GRPC_PORT: port.default(50051),
  /** `kinds:key`, as in `user+client:MCow…`: base64 DER (SPKI) Ed25519 keys, and for whom each of their holders may speak. */
  ACTOR_PUBLIC_KEYS: list,
};

export type Owner = (typeof OWNERS)[number];

type AddressVariable<N extends string> = `${Uppercase<N>}_ADDRESS`;

/** `CONTACT_ADDRESS`: what says where a process is. */
export function variableOf<N extends string>(name: N): AddressVariable<N> {
  return `${name.toUpperCase()}_ADDRESS` as AddressVariable<N>;
}

/** host:port of each of these processes. */
export function addressVariables<N extends string>(
  names: readonly N[],
): Record<AddressVariable<N>, z.ZodString> {
  const variables = names.map((name) => [variableOf(name), z.string().min(1)]);
  // The names are those of the type; the compiler cannot follow that.
  return Object.fromEntries(variables) as Record<AddressVariable<N>, z.ZodString>;
}

/** Variables of a service that calls these services: their addresses, and the key that signs its calls. */
export function upstreams<O extends Owner>(...owners: O[]) {
  return {
    ...addressVariables(owners),
    /** Base64 DER (PKCS 8) Ed25519 key: this process calls other services in its own name. */
    ACTOR_PRIVATE_KEY: z.string().min(1),
  };
}

export type ServiceConfig = Readonly<z.infer<z.ZodObject<typeof serviceConfig>>> &
  Partial<Record<AddressVariable<Owner> | "ACTOR_PRIVATE_KEY", string>>;

export class ConfigError extends Error {
  override name = "ConfigError";
}

/**
 * Reads the environment once, typed. Every problem is reported together, so that a deployment is corrected in one go.
 * An empty variable counts as absent: that is how charts and compose files write "not set".
 */
export function readConfig<Shape extends z.ZodRawShape>(
  shape: Shape,
  env: NodeJS.ProcessEnv,
): Readonly<z.infer<z.ZodObject<Shape>>> {
  const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ""));
  const result = z.object(shape).safeParse(present);
  if (result.success) return Object.freeze(result.data);
  const problems = result.error.issues.map((issue) => `  ${issue.path.join(".")}: ${issue.message}`);
  throw new ConfigError(`Configuration is not usable:\n${problems.join("\n")}`);
}

/**
 * The clients that the API answers for, where clients differ: `mautic` answers nested collections as arrays and filters as they were sent,
 * names triggers and the version header as that product does, and keeps ids in properties of entities that are not there.
 */
export const apiDialect = z.enum(["tidings", "mautic"]).default("tidings");
export type ApiDialect = z.infer<typeof apiDialect>;
