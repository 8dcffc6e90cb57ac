import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { root } from "./tool.ts";

export type StoreName = "postgres" | "nats" | "redis";

/** The images of the servers that the product stands on, with their tags, as the chart pins them. */
export function storeImages(): Record<StoreName, string> {
  const { postgres, nats, redis } = parse(readFileSync(join(root, "charts/tidings/values.yaml"), "utf8"));
  return { postgres: postgres.image, nats: nats.image, redis: redis.image };
}

/** `2.12.15` of `docker.io/library/nats:2.12.15-alpine`. */
export function storeVersion(store: StoreName): string {
  const image = storeImages()[store];
  const [, version] = /:(\d+(?:\.\d+)+)/.exec(image) ?? [];
  if (!version) throw new Error(`${image} names no version`);
  return version;
}
