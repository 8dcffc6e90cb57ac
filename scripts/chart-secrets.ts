import { randomBytes } from "node:crypto";
import { roleUrl } from "@tidings/database/migrate";
import { generateSecretKey } from "@tidings/secrets/secret-box";
import { generateActorKeyRing, trustedKeys } from "./actor-keys.ts";
import { passwordVariableOf } from "./migrate-config.ts";
import { natsPermissions } from "./nats-permissions.ts";
import { processes } from "./processes.ts";
import { generatePassword } from "./secrets.ts";

/** A Secret of Kubernetes. */
export interface Secret {
  apiVersion: "v1";
  kind: "Secret";
  metadata: { name: string; namespace?: string; labels: Record<string, string> };
  stringData: Record<string, string>;
}

export interface ChartSecretsOptions {
  /** The release of the chart: its Secrets are called `<release>-<process>`. */
  release: string;
  /** Left to kubectl when absent. */
  namespace?: string | undefined;
  /** The URL for a role that may create roles and schemas in that database; absent, the Postgres of the chart. */
  databaseUrl?: string | undefined;
  /**
   * Absent, the NATS of the chart. Without a user each process has one of its own there, with no more rights than it uses: the server
   * includes `users.conf` of its Secret.
   */
  natsUrl?: string | undefined;
  /** Absent, the Redis of the chart; `none`, that there is none. */
  redisUrl?: string | undefined;
  /** The prefix of database roles, before the name of the schema; `tidings` when absent. */
  rolePrefix?: string | undefined;
  /** The keys of the bucket that keeps uploads, where there is one. */
  bucketKeys?: { access: string; secret: string } | undefined;
  adminPassword: string;
}

/**
 * Every Secret that charts/tidings reads, all made anew: one for each process, one for the migrations, and one for each store
 * that has to know passwords. Nothing is in two of them but what two sides have to know.
 */
export function chartSecrets(options: ChartSecretsOptions): Secret[] {
  const { release, rolePrefix = "tidings" } = options;
  const stores = storesOf(options);
  const ring = generateActorKeyRing();
  const passwords = new Map(processes.map(({ schema }) => [schema, generatePassword()]));
  const secret = (name: string, stringData: Record<string, string>): Secret => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: `${release}-${name}`,
      ...(options.namespace && { namespace: options.namespace }),
      labels: { "app.kubernetes.io/instance": release, "app.kubernetes.io/part-of": "tidings" },
    },
    stringData,
  });
  const own: Record<string, Record<string, string>> = {
    gateway: { ADMIN_PASSWORD: options.adminPassword, ...stores.redis.variables },
    content: {
      CONTENT_SECRET_KEYS: generateSecretKey(),
      PUBLIC_TOKEN_KEYS: generateSecretKey(),
      ...bucketVariables(options.bucketKeys),
    },
    contact: { SUPPRESSION_KEY: randomBytes(32).toString("base64") },
    webhook: { WEBHOOK_SECRET_KEYS: generateSecretKey() },
  };
  const ofProcesses = processes.map(({ name, schema, callers, variables }) => {
    return secret(name, {
      DATABASE_URL: roleUrl(stores.postgres.adminUrl, `${rolePrefix}_${schema}`, passwords.get(schema) ?? ""),
      NATS_URL: stores.nats.urlOf(name),
      ...(variables.includes("ACTOR_PRIVATE_KEY") && { ACTOR_PRIVATE_KEY: ring[name].privateKey }),
      ACTOR_PUBLIC_KEYS: trustedKeys(ring, callers),
      ...own[name],
    });
  });
  const ofRoles = [...passwords].map(([schema, value]) => [passwordVariableOf(schema), value]);
  return [
    ...ofProcesses,
    secret("migrate", {
      DATABASE_URL: stores.postgres.adminUrl,
      ROLE_PREFIX: rolePrefix,
      ...Object.fromEntries(ofRoles),
    }),
    ...Object.entries(stores).flatMap(([name, { file }]) => (file ? [secret(name, file)] : [])),
  ];
}

/** The address of each store, and the content of its Secret when it is the chart's. */
function storesOf({ release, databaseUrl, natsUrl, redisUrl }: ChartSecretsOptions) {
  return {
    postgres: databaseUrl ? { adminUrl: databaseUrl, file: undefined } : ownPostgres(release),
    nats: natsOf(natsUrl ?? `nats://${release}-nats:4222`),
    redis: redisUrl ? { variables: givenRedis(redisUrl), file: undefined } : ownRedis(release),
  };
}

function ownPostgres(release: string) {
  const secret = generatePassword();
  return {
    adminUrl: `postgres://postgres:${secret}@${release}-postgres:5432/tidings`,
    file: { POSTGRES_PASSWORD: secret },
  };
}

function natsOf(url: string) {
  const { username, host } = new URL(url);
  if (username) return { urlOf: () => url, file: undefined };
  const passwords = new Map<string, string>(processes.map(({ name }) => [name, generatePassword()]));
  return {
    urlOf: (name: string) => `nats://${name}:${passwords.get(name)}@${host}`,
    file: { "users.conf": natsPermissions((name) => `"${passwords.get(name)}"`) },
  };
}

function ownRedis(release: string) {
  const secret = generatePassword();
  return {
    variables: { REDIS_URL: `redis://:${secret}@${release}-redis:6379` },
    file: { "redis.conf": `requirepass ${secret}\n` },
  };
}

function givenRedis(url: string): Record<string, string> {
  return url === "none" ? {} : { REDIS_URL: url };
}

function bucketVariables(keys: ChartSecretsOptions["bucketKeys"]): Record<string, string> {
  return keys ? { FILES_S3_ACCESS_KEY: keys.access, FILES_S3_SECRET_KEY: keys.secret } : {};
}
