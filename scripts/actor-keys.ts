import { generateKeyPairSync } from "node:crypto";

/** An Ed25519 pair, as base64 of its DER form (PKCS #8 and SPKI): signs who a call is made for. */
export interface ActorKeys {
  privateKey: string;
  publicKey: string;
}

export function generateActorKeys(): ActorKeys {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    privateKey: privateKey.export({ format: "der", type: "pkcs8" }).toString("base64"),
    publicKey: publicKey.export({ format: "der", type: "spki" }).toString("base64"),
  };
}
