import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { LRUCache } from "lru-cache";
import { unauthenticated } from "./fault.ts";

/** Who a call is made for. */
export interface Actor {
  kind: "user" | "client" | "service";
  /** Of the user; null for clients and services. */
  id: number | null;
  /** As shown in created_by_user. */
  name: string;
  admin: boolean;
  /** Permission base ("lead:leads") to the actions held on it. */
  permissions: Record<string, string[]>;
}

/** Turns an actor into a token that services accept for a minute. */
export type ActorSigner = (actor: Actor) => string;
export type ActorVerifier = (token: string) => Actor;

const LIFETIME_MS = 60_000;
const REUSE_MS = 30_000;

/**
 * Tokens are `base64url(claims).base64url(Ed25519 signature)`. One is made per actor and half minute, so that a request
 * costs a look-up and not a signature.
 */
export function actorSigner(privateKeyBase64: string): ActorSigner {
  const key = createPrivateKey({
    key: Buffer.from(privateKeyBase64, "base64"),
    format: "der",
    type: "pkcs8",
  });
  const tokens = new LRUCache<Actor, string>({ max: 1_000, ttl: REUSE_MS });
  return (actor) => {
    const known = tokens.get(actor);
    if (known) return known;
    const claims = Buffer.from(JSON.stringify({ actor, exp: Date.now() + LIFETIME_MS }));
    const token = `${claims.toString("base64url")}.${sign(null, claims, key).toString("base64url")}`;
    tokens.set(actor, token);
    return token;
  };
}

/** Accepts tokens of any of the keys (two while keys are rotated). Throws UNAUTHENTICATED on all others. */
export function actorVerifier(publicKeysBase64: string[]): ActorVerifier {
  const keys = publicKeysBase64.map((text) =>
    createPublicKey({ key: Buffer.from(text, "base64"), format: "der", type: "spki" }),
  );
  const verified = new LRUCache<string, Claims>({ max: 1_000, ttl: LIFETIME_MS });
  return (token) => {
    let claims = verified.get(token);
    if (!claims) {
      claims = verifyToken(token, keys);
      verified.set(token, claims);
    }
    if (claims.exp < Date.now()) throw unauthenticated("ACTOR_EXPIRED", "The caller's identity has expired.");
    return claims.actor;
  };
}

interface Claims {
  actor: Actor;
  exp: number;
}

function verifyToken(token: string, keys: KeyObject[]): Claims {
  const [payload = "", signature = ""] = token.split(".");
  const claims = Buffer.from(payload, "base64url");
  const isGenuine = keys.some((key) => verify(null, claims, key, Buffer.from(signature, "base64url")));
  if (!isGenuine) throw unauthenticated("ACTOR_INVALID", "The caller's identity could not be verified.");
  return JSON.parse(claims.toString("utf8")) as Claims;
}
