import { allowedRanges } from "@tidings/outbound/allowed-ranges";
import { apiDialect, list, readConfig, serviceConfig, upstreams } from "@tidings/runtime/config";
import { secretKeys } from "@tidings/secrets/secret-keys";
import { z } from "zod";
import { DEFAULT_SCHEDULE } from "./schedule.ts";

const seconds = list.transform((texts, context) => {
  const values = texts.map(Number);
  const isValid = values.length > 0 && values.every((value) => value >= 0);
  if (!isValid) context.addIssue({ code: "custom", message: "must be a list of seconds" });
  return values;
});

/** Every variable the webhook service reads. */
export const webhookVariables = {
  ...serviceConfig,
  ...upstreams("contact", "content", "campaign", "identity"),
  /** `name:base64 of 32 bytes`: what secrets of webhooks are kept under; the first for new ones, all of them to read. */
  WEBHOOK_SECRET_KEYS: secretKeys,
  /** Private ranges that deliveries may go to all the same, e.g. 127.0.0.1/32 for a receiver on this machine. */
  OUTBOUND_ALLOW_CIDRS: allowedRanges.default([]),
  /** Seconds before each attempt of a delivery. */
  WEBHOOK_SCHEDULE: seconds.default(DEFAULT_SCHEDULE),
  /** Seconds an attempt may take. */
  WEBHOOK_TIMEOUT: z.coerce.number().positive().default(20),
  /** Sent to receivers as the origin of a delivery. */
  PUBLIC_URL: z.url().default("http://localhost:8080"),
  API_DIALECT: apiDialect,
  /** The word before the dot in the names of triggers; by the dialect when absent. */
  TRIGGER_PREFIX: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_-]{0,49}$/)
    .optional(),
};

export function webhookConfig(env: NodeJS.ProcessEnv) {
  return readConfig(webhookVariables, env);
}

export type WebhookConfig = ReturnType<typeof webhookConfig>;
