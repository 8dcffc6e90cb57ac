import { randomBytes } from "node:crypto";
import { generateSecretKey } from "@tidings/secrets/secret-box";
import { generateActorKeyRing, trustedKeys } from "./actor-keys.ts";
import { passwordVariableOf } from "./migrate-config.ts";
import { processes } from "./processes.ts";
import { generatePassword } from "./secrets.ts";

/** Every secret that compose.yaml asks for, made anew, by the name of its variable. */
export function composeVariables(): Record<string, string> {
  const ring = generateActorKeyRing();
  const ofProcesses = processes.map(({ name, schema, callers, variables }) => ({
    [passwordVariableOf(schema)]: generatePassword(),
    [`${name.toUpperCase()}_NATS_PASSWORD`]: generatePassword(),
    ...(variables.includes("ACTOR_PRIVATE_KEY") && {
      [`${name.toUpperCase()}_ACTOR_PRIVATE_KEY`]: ring[name].privateKey,
    }),
    [`${name.toUpperCase()}_ACTOR_PUBLIC_KEYS`]: trustedKeys(ring, callers),
  }));
  return {
    ADMIN_PASSWORD: randomBytes(12).toString("base64url"),
    POSTGRES_PASSWORD: generatePassword(),
    REDIS_PASSWORD: generatePassword(),
    SUPPRESSION_KEY: randomBytes(32).toString("base64"),
    WEBHOOK_SECRET_KEYS: generateSecretKey(),
    CONTENT_SECRET_KEYS: generateSecretKey(),
    PUBLIC_TOKEN_KEYS: generateSecretKey(),
    ...Object.assign({}, ...ofProcesses),
  };
}
