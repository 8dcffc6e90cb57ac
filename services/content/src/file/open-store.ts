import { join } from "node:path";
import type { ContentConfig } from "../config.ts";
import { bucketStore } from "./bucket-store.ts";
import { localStore } from "./local-store.ts";
import type { FileStore } from "./store.ts";

/** Where uploads lie until they are taken. */
export function arrivalsFolder(config: ContentConfig): string {
  return join(config.FILES_DIR, "arriving");
}

/** The bucket where one is configured, else the folder. */
export async function openStore(config: ContentConfig): Promise<FileStore> {
  if (!config.FILES_S3_URL) return localStore(join(config.FILES_DIR, "kept"), arrivalsFolder(config));
  return bucketStore({
    url: config.FILES_S3_URL,
    region: config.FILES_S3_REGION,
    bucket: config.FILES_S3_BUCKET,
    accessKey: config.FILES_S3_ACCESS_KEY,
    secretKey: config.FILES_S3_SECRET_KEY,
  });
}
