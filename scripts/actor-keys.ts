import { generateKeyPairSync } from "node:crypto";

/** The processes that make calls, and the kinds of actor each may speak for. */
const CALLERS = { gateway: "user+client", webhook: "service" };

export type Caller = keyof typeof CALLERS;

/** An Ed25519 pair, as base64 of its DER form (PKCS #8 and SPKI): signs who a call is made for. */
export interface ActorKeys {
  privateKey: string;
  publicKey: string;
}

/** The pair of each process that makes calls. */
export type ActorKeyRing = Record<Caller, ActorKeys>;

export function generateActorKeyRing(): ActorKeyRing {
  return { gateway: generateActorKeys(), webhook: generateActorKeys() };
}

/** What a process is told that those callers may call: `ACTOR_PUBLIC_KEYS`. */
export function trustedKeys(ring: ActorKeyRing, callers: Caller[]): string {
  return callers.map((caller) => `${CALLERS[caller]}:${ring[caller].publicKey}`).join(",");
}

function generateActorKeys(): ActorKeys {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    privateKey: privateKey.export({ format: "der", type: "pkcs8" }).toString("base64"),
    publicKey: publicKey.export({ format: "der", type: "spki" }).toString("base64"),
  };
}
