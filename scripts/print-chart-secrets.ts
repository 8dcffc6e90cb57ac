import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { ConfigError, readConfig } from "@tidings/runtime/config";
import { z } from "zod";
import { chartSecrets } from "./chart-secrets.ts";
import { migrateVariables } from "./migrate-config.ts";

const USAGE = `npm run -s secrets -- [--release NAME] [--namespace NAME] | kubectl create -f -

Prints every Secret that charts/tidings reads, all made anew, and needs no cluster. The environment may name
  DATABASE_URL    a Postgres of yours: a role that may create roles and schemas in that database
  NATS_URL        a NATS of yours; without a user, each process gets one of its own, which that NATS is told of
  REDIS_URL       a Redis of yours, or none
  ROLE_PREFIX     what the database roles are called by, for a second installation on one server
  FILES_S3_ACCESS_KEY, FILES_S3_SECRET_KEY  of the bucket for uploads, where there is one
  ADMIN_PASSWORD  of the first administrator, admin
What it does not name is the chart's own, or generated.`;

const variables = {
  DATABASE_URL: z
    .url()
    .refine((url) => new URL(url).pathname.length > 1, "must name a database")
    .optional(),
  NATS_URL: z.url().optional(),
  REDIS_URL: z.union([z.url(), z.literal("none")]).optional(),
  ROLE_PREFIX: migrateVariables.ROLE_PREFIX,
  FILES_S3_ACCESS_KEY: z.string().optional(),
  FILES_S3_SECRET_KEY: z.string().optional(),
  ADMIN_PASSWORD: z.string().min(8).max(256).optional(),
};

try {
  main();
} catch (error) {
  const { message } = error as Error;
  console.error(error instanceof ConfigError ? message : `${message}\n\n${USAGE}`);
  process.exitCode = 1;
}

function main(): void {
  const { values } = parseArgs({
    options: { release: { type: "string", default: "tidings" }, namespace: { type: "string" } },
  });
  const given = readConfig(variables, process.env);
  const adminPassword = given.ADMIN_PASSWORD ?? randomBytes(12).toString("base64url");
  const { FILES_S3_ACCESS_KEY: access, FILES_S3_SECRET_KEY: secret } = given;
  const items = chartSecrets({
    ...values,
    databaseUrl: given.DATABASE_URL,
    natsUrl: given.NATS_URL,
    redisUrl: given.REDIS_URL,
    rolePrefix: given.ROLE_PREFIX,
    bucketKeys: access && secret ? { access, secret } : undefined,
    adminPassword,
  });
  console.log(JSON.stringify({ apiVersion: "v1", kind: "List", items }, null, 2));
  if (!given.ADMIN_PASSWORD) console.error(`The administrator is admin, the password is ${adminPassword}`);
}
