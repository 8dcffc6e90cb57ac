import { list, port, processConfig, readConfig } from "@tidings/runtime/config";
import { z } from "zod";

export function contactConfig(env: NodeJS.ProcessEnv) {
  return readConfig(
    {
      ...processConfig,
      DATABASE_URL: z.url(),
      DATABASE_CONNECTIONS: z.coerce.number().int().min(2).max(500).default(20),
      NATS_URL: z.string().min(1),
      GRPC_PORT: port.default(50051),
      /** Base64 DER (SPKI) Ed25519 keys; two while they are rotated. */
      ACTOR_PUBLIC_KEYS: list,
    },
    env,
  );
}
