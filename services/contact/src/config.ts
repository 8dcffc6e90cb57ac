import { apiDialect, readConfig, serviceConfig, upstreams } from "@tidings/runtime/config";
import { z } from "zod";

const KEY_BYTES_MIN = 32;

/** Every variable the contact service reads. */
export const contactVariables = {
  ...serviceConfig,
  ...upstreams("identity", "content", "campaign"),
  API_DIALECT: apiDialect,
  /** Days after which a contact that began with a visit, never said who it is and was not seen since is deleted. 0: never. */
  ANONYMOUS_DAYS: z.coerce.number().int().min(0).max(36_500).default(365),
  /** Base64 of 32 random bytes or more: what deleted contacts did not want is kept under hashes made with it. */
  SUPPRESSION_KEY: z
    .base64()
    .refine((text) => Buffer.from(text, "base64").length >= KEY_BYTES_MIN, "must be at least 32 bytes"),
};

export function contactConfig(env: NodeJS.ProcessEnv) {
  return readConfig(contactVariables, env);
}

export type ContactConfig = ReturnType<typeof contactConfig>;
