import { createHmac, randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { generateSecretKey } from "@tidings/secrets/secret-box";
import { type ActorKeyRing, generateActorKeyRing } from "./actor-keys.ts";

/** Secrets of an installation on one machine. */
export interface Secrets {
  /** The secret that the passwords of the database roles are made of. */
  rolePassword: string;
  actorKeyRing: ActorKeyRing;
  /** A key of the contact service, base64. */
  suppressionKey: string;
  /** The key that the webhook service seals secrets of webhooks with, `name:base64`. */
  webhookSecretKey: string;
  /** The same for the content service. */
  contentSecretKey: string;
  /** The key that signs what visitors bring back: links, cookies. */
  publicTokenKey: string;
  /** Is the administrator's password set? It is kept as a hash, in the database only. */
  hasAdministrator: boolean;
}

/** Makes the secrets on first use, and those that an older version did not have. */
export function readSecrets(path: string): Secrets {
  const known: Partial<Secrets> = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
  const secrets: Secrets = {
    rolePassword: randomBytes(24).toString("hex"),
    suppressionKey: randomBytes(32).toString("base64"),
    webhookSecretKey: generateSecretKey(),
    contentSecretKey: generateSecretKey(),
    publicTokenKey: generateSecretKey(),
    hasAdministrator: false,
    ...known,
    // A process that an older version did not have gets its keys now.
    actorKeyRing: { ...generateActorKeyRing(), ...known.actorKeyRing },
  };
  writeSecrets(path, secrets);
  return secrets;
}

/** A password of letters that mean nothing to a URL, a shell or a configuration file, which does not look like a number. */
export function generatePassword(): string {
  return `p${randomBytes(24).toString("hex")}`;
}

/** The password of one schema's role: who knows it knows none of the others. */
export function rolePasswordOf(secret: string, schema: string): string {
  return createHmac("sha256", secret).update(schema).digest("hex");
}

/** Readable by the owner only, and never half written. */
export function writeSecrets(path: string, secrets: Secrets): void {
  writeFileSync(`${path}.new`, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}
