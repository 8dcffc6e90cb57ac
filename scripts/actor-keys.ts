import { generateKeyPairSync } from "node:crypto";
import { type ProcessName, processes } from "./processes.ts";

/** An Ed25519 pair, as base64 of its DER form (PKCS #8 and SPKI): signs who a call is made for. */
export interface ActorKeys {
  privateKey: string;
  publicKey: string;
}

/** The pair of each process. */
export type ActorKeyRing = Record<ProcessName, ActorKeys>;

export function generateActorKeyRing(): ActorKeyRing {
  const pairs = processes.map(({ name }) => [name, generateActorKeys()] as const);
  return Object.fromEntries(pairs) as ActorKeyRing;
}

/** The public keys of the callers of a process: `ACTOR_PUBLIC_KEYS`. Only the gateway speaks for people and apps. */
export function trustedKeys(ring: ActorKeyRing, callers: ProcessName[]): string {
  const kindsOf = (caller: ProcessName) => (caller === "gateway" ? "user+client" : "service");
  return callers.map((caller) => `${kindsOf(caller)}:${ring[caller].publicKey}`).join(",");
}

function generateActorKeys(): ActorKeys {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    privateKey: privateKey.export({ format: "der", type: "pkcs8" }).toString("base64"),
    publicKey: publicKey.export({ format: "der", type: "spki" }).toString("base64"),
  };
}
