import { resolve } from "node:path";
import { port, readConfig } from "@tidings/runtime/config";
import { z } from "zod";

export type StartConfig = ReturnType<typeof readStartConfig>;

/** The variables of `npm start`. Everything has a default; the processes read their own variables besides. */
export function readStartConfig(env: NodeJS.ProcessEnv) {
  return readConfig(
    {
      PORT: port.min(1).default(8080),
      DATA_DIR: z
        .string()
        .default(".data")
        .transform((path) => resolve(path)),
      /** The URL for a role that may create schemas and roles; absent, Postgres is started here. */
      DATABASE_URL: z.url().optional(),
      /** Ours to start when absent. */
      NATS_URL: z.string().optional(),
      /** Limits are kept in memory when absent. */
      REDIS_URL: z.url().optional(),
      ADMIN_PASSWORD: z.string().min(8).max(256).optional(),
      PUBLIC_URL: z.url().optional(),
      /** How mails leave; they are kept as files below DATA_DIR when absent. */
      MAIL_URL: z.string().optional(),
      MAIL_FROM: z.string().default("Tidings <tidings@web.localhost>"),
    },
    env,
  );
}
