import { apiDialect, readConfig, serviceConfig, upstreams } from "@tidings/runtime/config";
import { z } from "zod";

const KEY_BYTES_MIN = 32;
/** `3/week`: so many messages in the last day, week or month. */
const FREQUENCY = /^([1-9]\d{0,8})\/(day|week|month)$/;

const frequency = z
  .string()
  .regex(FREQUENCY, "must be a number and day, week or month, such as 3/week")
  .transform((text) => {
    const [, number = "", unit = ""] = FREQUENCY.exec(text) ?? [];
    return { frequencyNumber: Number(number), frequencyTime: unit.toUpperCase() };
  });

/** Every variable the contact service reads. */
export const contactVariables = {
  ...serviceConfig,
  ...upstreams("identity", "content", "campaign"),
  API_DIALECT: apiDialect,
  /** Days after which a contact that began with a visit, never said who it is and was not seen since is deleted. 0: never. */
  ANONYMOUS_DAYS: z.coerce.number().int().min(0).max(36_500).default(365),
  /** How many emails and text messages a contact without a rule of its own gets at most: `10/day`, `3/week`, `5/month`. Any number when absent. */
  EMAIL_FREQUENCY: frequency.optional(),
  SMS_FREQUENCY: frequency.optional(),
  /** Base64 of 32 random bytes or more: what deleted contacts did not want is kept under hashes made with it. */
  SUPPRESSION_KEY: z
    .base64()
    .refine((text) => Buffer.from(text, "base64").length >= KEY_BYTES_MIN, "must be at least 32 bytes"),
};

export function contactConfig(env: NodeJS.ProcessEnv) {
  return readConfig(contactVariables, env);
}

export type ContactConfig = ReturnType<typeof contactConfig>;
